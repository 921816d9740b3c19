"""Layouts that readers and writers share."""
