"""Walking an HDF5 file without leaving it: links are looked at before they are followed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from h5py import h5d, h5g, h5l, h5o  # pyright: ignore[reportAttributeAccessIssue] - compiled, without stubs

from gristmill.errors import RecordingError, UnsafeCorpusError
from gristmill.formats.hdf5.opening import DAMAGE, Opened

Group: TypeAlias = h5g.GroupID
Dataset: TypeAlias = h5d.DatasetID

_READ = (h5g.GroupID, h5d.DatasetID)
_MAX_HOPS = 16  # soft links on the way to one object, those within links included
_MAX_DEPTH = 8  # groups within groups; robomimic needs three, Isaac Lab five
_MAX_MEMBERS = 200_000  # of one group, and of all groups of one walk


def root(opened: Opened) -> Group:
    """The root group of an open file.

    Raises:
        RecordingError: it cannot be opened.
    """
    try:
        return h5g.open(opened.file.id, b"/")
    except DAMAGE as error:
        raise RecordingError(f"{opened.name} has no root group ({_short(error)}); restore the file") from None


def known(opened: Opened, path: str) -> Group:
    """A group whose links were looked at before.

    Raises:
        RecordingError: it cannot be opened.
    """
    try:
        return h5g.open(opened.file.id, path.encode("utf-8", "surrogateescape"))
    except DAMAGE as error:
        raise RecordingError(f"{opened.name}: {path} cannot be opened ({_short(error)}); start again") from None


def names(group: Group, where: str) -> list[str]:
    """Names of a group's members, in HDF5's order.

    Raises:
        RecordingError: the group cannot be listed.
    """
    try:
        _countable(group, where)
        return [name.decode("utf-8", "surrogateescape") for name in group]
    except DAMAGE as error:
        raise RecordingError(f"{where} cannot be listed ({_short(error)}); restore the file") from None


def members(group: Group, where: str) -> list[tuple[str, Group | Dataset]]:
    """Names and objects of a group's members that are groups or datasets, in HDF5's order; errors as for `member`."""
    kinds: list[tuple[bytes, int]] = []
    try:
        if not _countable(group, where):
            return []
        group.links.iterate(lambda name, info: kinds.append((name, info.type)), info=True)
        plain = [h5o.open(group, name) if kind == h5l.TYPE_HARD else None for name, kind in kinds]
    except DAMAGE as error:
        raise RecordingError(f"{where}: a member cannot be opened ({_short(error)}); restore the file") from None
    found: list[tuple[str, Group | Dataset]] = []
    for (encoded, kind), child in zip(kinds, plain, strict=True):
        name = encoded.decode("utf-8", "surrogateescape")
        if kind != h5l.TYPE_HARD:
            child = member(group, name, where)
        if isinstance(child, _READ):
            found.append((name, child))
    return found


def member(group: Group, name: str, where: str, hops: list[str] | None = None) -> Group | Dataset | None:
    """A group's member by its name, or None when there is none, or one that is neither group nor dataset.

    Raises:
        UnsafeCorpusError: the link leads to another file, or in a circle.
        RecordingError: the member cannot be opened.
    """
    encoded = name.encode("utf-8", "surrogateescape")
    try:
        if not group.links.exists(encoded):
            return None
        kind = group.links.get_info(encoded).type
        if kind == h5l.TYPE_HARD:
            found = h5o.open(group, encoded)
            return found if isinstance(found, _READ) else None
        target = group.links.get_val(encoded) if kind == h5l.TYPE_SOFT else b""
    except DAMAGE as error:
        raise RecordingError(f"{where}: {name} cannot be opened ({_short(error)}); restore the file") from None
    if kind != h5l.TYPE_SOFT:
        raise UnsafeCorpusError(
            f"{where}: {name} is a link to another file; nothing was read of it, copy the data into one file"
        )
    hops = [] if hops is None else hops
    hops.append(name)
    if len(hops) > _MAX_HOPS:
        raise UnsafeCorpusError(f"{where}: the link {hops[0]} leads in a circle; remove it")
    text = target.decode("utf-8", "surrogateescape")
    start = h5g.open(group, b"/") if text.startswith("/") else group
    return find(start, text, where, hops)


def find(group: Group, path: str, where: str, hops: list[str] | None = None) -> Group | Dataset | None:
    """What lies at a path below a group, or None; errors as for `member`."""
    at: Group | Dataset | None = group
    for part in path.split("/"):
        if part in ("", "."):
            continue
        if not isinstance(at, h5g.GroupID):
            return None
        at = member(at, part, where, hops)
    return at


def datasets(group: Group, where: str) -> Iterator[tuple[str, Dataset]]:
    """Path below the group and dataset, for all datasets below it.

    Raises:
        UnsafeCorpusError: as for `member`, and groups that are nested without an end.
        RecordingError: a group cannot be listed.
    """
    waiting: list[tuple[str, Group, int]] = [("", group, 0)]
    count = 0
    while waiting:
        prefix, at, depth = waiting.pop()
        for name, found in members(at, where):
            count += 1
            if depth > _MAX_DEPTH or count > _MAX_MEMBERS:
                raise UnsafeCorpusError(f"{where}: groups within groups without an end at {prefix}; remove them")
            if isinstance(found, h5d.DatasetID):
                yield prefix + name, found
            else:
                waiting.append((f"{prefix}{name}/", found, depth + 1))


def _countable(group: Group, where: str) -> int:
    count = group.get_num_objs()
    if count > _MAX_MEMBERS:
        raise RecordingError(f"{where} has {count:,} members, more than {_MAX_MEMBERS:,}; split the file")
    return count


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
