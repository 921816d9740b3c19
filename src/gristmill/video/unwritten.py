"""Why a video file could not be written."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from av.error import FFmpegError

from gristmill.errors import VideoError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def unwritten(path: Path, doing: str, error: OSError | FFmpegError) -> Exception:
    """The error to raise instead: a full disk is no fault of the video, and stays an OSError that names the file.

    Args:
        path: the file.
        doing: what failed, such as "copying".
        error: what FFmpeg or the file system said.
    """
    first: BaseException | None = error
    while first is not None:  # closing the file may have failed for another reason after that
        number = getattr(first, "errno", None)
        if number in _FULL:
            return OSError(int(number), os.strerror(number), str(path))
        first = first.__context__
    return VideoError(f"{path}: {doing} failed ({error.strerror or error})")
