"""Layouts that readers and writers share: one folder a family of formats."""
