"""Cameras of one episode, made when they are asked for, so that nothing of video is loaded before it is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from gristmill.episode import Camera


class LazyCameras(Mapping[str, Camera]):
    """Camera key -> camera."""

    def __init__(self, keys: Sequence[str], make: Callable[[str], Camera]) -> None:
        self._keys = keys
        self._make = make
        self._made: dict[str, Camera] = {}

    def __getitem__(self, key: str) -> Camera:
        if key not in self._made:
            if key not in self._keys:
                raise KeyError(key)
            self._made[key] = self._make(key)
        return self._made[key]

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)
