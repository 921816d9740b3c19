"""How frames are encoded that cannot be copied: in their file's codec, so well that nothing is seen of it."""

from __future__ import annotations

from typing import Any

from gristmill.errors import VideoError
from gristmill.video.encode import available_encoder

_USUAL = "av1"  # LeRobot's own
# A keyframe every second frame, as LeRobot's recorder writes them, so that any frame is decoded after one other.
_GOP = 2
# Not hevc: x265 4.2, which PyAV brings, refuses one small file in some two hundred, and aborts whole processes.
_SETTINGS: dict[str, dict[str, Any]] = {
    "av1": {"codec": "libsvtav1", "crf": 8, "preset": 8},
    "h264": {"codec": "libx264", "crf": 12, "preset": "medium"},
}
_CHROMA = {f"yuv{j}{n}p": f"yuv{n}p" for n in ("420", "422", "444") for j in ("", "j")}


def encoding_like(codec: str = "", pix_fmt: str = "") -> dict[str, Any]:
    """Options of `gristmill.video.encode.encode` for frames of a file in this codec.

    Where there is no encoder for the codec that can be relied upon, they are encoded in AV1. The rates keep every
    picture above 40 dB of its source (peak signal to noise of RGB, 8 bit): on 40 to 120 frames of `g1_inspire` (640 x
    480), `gr1_sim_picknplace` (256 x 256) and a generated corpus (64 x 64) the worst pictures had 43.6, 42.5 and 40.4
    dB in AV1 and 42.7, 41.0 and 42.3 dB in H.264. LeRobot's own setting for recording (AV1, crf 30, preset 12) gave
    39.8, 34.8 and 31.9 dB there; it is meant for pictures that were not compressed before.

    Args:
        codec: of the file that the frames come from, such as "h264"; "" where there is none.
        pix_fmt: of that file; its colour resolution is kept where the encoder can.
    """
    settings = _SETTINGS.get(codec, _SETTINGS[_USUAL])
    try:
        available_encoder(settings["codec"])
    except VideoError:
        settings = _SETTINGS[_USUAL]
    chroma = _CHROMA.get(pix_fmt, "yuv420p") if settings is not _SETTINGS[_USUAL] else "yuv420p"
    return settings | {"gop": _GOP, "pix_fmt": chroma}
