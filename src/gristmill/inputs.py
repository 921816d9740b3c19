"""What a measurement was computed from, as one 128-bit value an episode: the row's key in a stage table.

An input mixes the content digests of the parts of a recording that a check declares. Paths, row numbers
and episode numbers do not enter, so a renumbered, copied or repacked recording has the same inputs.

Digests are kept as two unsigned 64-bit lanes, an (n, 2) array, and mixed with array operations: a million
episodes cost milliseconds where hashing each row costs seconds. The same function takes Python integers, for
the one episode that a worker has just read. Each step is a bijection of the digest mixed in, so two
recordings that differ in one part never share an input; with several parts differing the chance is
that of two random 128-bit numbers being equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gristmill.check import Reads
from gristmill.digest import text_digest

Lanes = NDArray[np.uint64]  # (n, 2)
Pair = tuple[Any, Any]  # two lanes: Python integers, or (n,) uint64 arrays

_MASK = 0xFFFF_FFFF_FFFF_FFFF
# Odd, so that multiplying is a bijection: the golden ratio's bits, and a constant of the SplitMix64 finalizer
# (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
_FIRST = 0x9E37_79B9_7F4A_7C15
_SECOND = 0x94D0_49BB_1331_11EB


class Parts(NamedTuple):
    """Names of the parts that an input mixes, in order; `text` is their stored form.

    "values", "task" and "cameras" are content; "meta" is what metadata declares together with the issues that
    the reader met; "card" and "layout" belong to the corpus; "length" is the declared number of frames.
    """

    names: tuple[str, ...]

    @property
    def text(self) -> str:
        """`values+card+layout+length`."""
        return "+".join(self.names)

    @classmethod
    def parse(cls, text: str) -> Parts:
        """The inverse of `text`."""
        return cls(tuple(text.split("+")) if text else ())

    @classmethod
    def of(cls, reads: Reads) -> Parts:
        """What a check depends on when it declares `reads`.

        Motion uses the card (gripper, units), and whoever reads anything also sees the declared length and
        rate. The layout fixes the order of dimensions and cameras, which lists over them rely on.
        """
        wanted = {
            "values": reads.channels or reads.motion,
            "task": reads.task,
            "meta": reads.meta,
            "cameras": reads.packets or reads.traces,
            "card": reads.card or reads.motion,
        }
        names = tuple(name for name, wants in wanted.items() if wants)
        return cls((*names, "layout", "length") if names else ())


def label(name: str) -> tuple[int, int]:
    """Two constants that tell a part from the others."""
    return pair(text_digest(["part", name]))


def pair(digest: str) -> tuple[int, int]:
    """The two lanes of a digest in hexadecimal; "" is (0, 0)."""
    data = bytes.fromhex(digest) or bytes(16)
    return int.from_bytes(data[:8], "little"), int.from_bytes(data[8:16], "little")


def combine(parts: Iterable[tuple[tuple[int, int], Pair]]) -> Pair:
    """Mix labelled digests, in order.

    Args:
        parts: (label, digest) with a digest's lanes as integers or as arrays of one length.

    Returns:
        Two lanes, arrays as soon as one digest was an array.
    """
    first: Any = _FIRST
    second: Any = _SECOND
    for (label_first, label_second), (digest_first, digest_second) in parts:
        first = ((first ^ digest_first) * _FIRST & _MASK) ^ label_second
        second = ((second ^ digest_second) * _SECOND & _MASK) ^ label_first
        first = first ^ (second >> 29)
        second = second ^ (first >> 32)
    return first, second


def recipe(parts: Parts, cameras: Sequence[str]) -> tuple[tuple[tuple[int, int], str], ...]:
    """(label, name) of everything to mix.

    "meta" also means "issues"; "cameras" means `camera:KEY` and `pace:KEY` of each camera, in the declared order.
    """
    spelt = {"cameras": [f"{part}:{c}" for c in cameras for part in ("camera", "pace")], "meta": ["meta", "issues"]}
    return tuple((label(name), name) for part in parts.names for name in spelt.get(part, [part]))


def inputs(parts: Parts, cameras: Sequence[str], digests: Mapping[str, Pair], count: int) -> Lanes:
    """Inputs of `count` episodes.

    Args:
        parts: what to mix.
        cameras: the corpus's cameras, in the declared order.
        digests: part (`camera:KEY` for a camera) -> lanes, (count,) arrays or one pair of integers for all.
        count: number of episodes.

    Returns:
        (count, 2) lanes.
    """
    out = np.empty((count, 2), np.uint64)
    out[:, 0], out[:, 1] = combine((mark, digests[name]) for mark, name in recipe(parts, cameras))
    return out


def number(value: Any) -> Pair:
    """Lanes of a small number (an integer, or an (n,) array of integers) where a digest is expected."""
    if isinstance(value, np.ndarray):
        value = value.astype(np.uint64)
        return value * np.uint64(_SECOND), value
    return int(value) * _SECOND & _MASK, int(value) & _MASK


def lanes(digests: Sequence[str]) -> Lanes:
    """(n, 2) lanes of n digests in hexadecimal; "" becomes zeros."""
    empty = "0" * 32
    return np.frombuffer(bytes.fromhex("".join([d or empty for d in digests])), "<u8").astype(np.uint64).reshape(-1, 2)


def hexadecimal(rows: Lanes) -> list[str]:
    """The digests as text; zeros become ""."""
    text = np.ascontiguousarray(rows, "<u8").tobytes().hex()
    empty = "0" * 32
    return ["" if (d := text[i : i + 32]) == empty else d for i in range(0, len(text), 32)]
