"""Reading, copying and writing video by packets and frames (PyAV; OpenCV wheels cannot decode AV1)."""
