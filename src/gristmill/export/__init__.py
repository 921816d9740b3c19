"""Exporters: one file a format, Snapshot -> files."""
