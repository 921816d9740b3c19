"""Replay buffers in Zarr v2 and v3, in a folder or a zip archive."""
