"""What a user states of a corpus because its format has no place for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from gristmill.errors import CorpusError
from gristmill.formats.recorded import ChannelSpec

Found = TypeVar("Found")


def named(
    numbers: Mapping[str, tuple[Found, ChannelSpec]], names: Mapping[str, Sequence[str]]
) -> dict[str, tuple[Found, ChannelSpec]]:
    """Channels with the names of dimensions that a user states.

    Args:
        numbers: channel key -> where the reader finds it, and its spec.
        names: channel key -> one name a dimension.

    Raises:
        CorpusError: there is no such channel, or the names are too few, too many, or not distinct.
    """
    done = dict(numbers)
    for key, given in names.items():
        if key not in done:
            raise CorpusError(f"options.names: there is no channel {key!r}; known: {', '.join(sorted(done)) or 'none'}")
        found, spec = done[key]
        if len(given) != spec.width or len(set(given)) < len(given):
            raise CorpusError(
                f"options.names: {key!r} has {spec.width} dimensions; give as many names, each another, "
                f"not {len(given)} of which {len(set(given))} differ"
            )
        done[key] = found, replace(spec, names=tuple(given))
    return done
