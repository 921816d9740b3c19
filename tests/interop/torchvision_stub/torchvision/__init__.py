"""Just enough of torchvision for LeRobot's dataset modules to import and to read images from tables.

The real package is large and is not needed: videos are decoded by torchcodec.
"""

from . import transforms

__all__ = ["set_video_backend", "transforms"]


def set_video_backend(backend: str) -> None:
    """LeRobot's older decoder, which nothing here may fall back to."""
    raise RuntimeError(f"video backend {backend!r} asked for; this environment decodes with torchcodec only")
