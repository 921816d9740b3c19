"""What episodes have in common, and how one differs from the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from gristmill.episode import Role
from gristmill.finding import Issue, Kind
from gristmill.formats.hdf5.fields import Field, Found, issue

_USUAL_SHARE = 0.5  # of the episodes that have to hold a dataset for the corpus to declare it


def usual_fields(episodes: Sequence[Sequence[Found]]) -> dict[str, Field]:
    """Of each key that enough episodes have, the field that most of them have: the state first, the action last."""
    counts: dict[str, Counter[Field]] = {}
    for found in (f for episode in episodes for f in episode):
        counts.setdefault(found.field.key, Counter())[found.field] += 1
    readable = sum(bool(episode) for episode in episodes)
    chosen = {key: c.most_common(1)[0][0] for key, c in counts.items() if c.total() >= _USUAL_SHARE * readable}
    order: dict[Role, int] = {"state": 0, "action": 2}
    return dict(sorted(chosen.items(), key=lambda item: order.get(item[1].role, 1)))


def settle(index: int, where: str, found: Sequence[Found]) -> tuple[tuple[Field, ...], int, list[Issue]]:
    """Fields that share one timeline, its frames, and what is wrong with them.

    Where datasets differ in length, the frames that all of them have are read.
    """
    if len({f.rows for f in found}) == 1 and found[0].rows and all(f.written for f in found):
        return tuple(f.field for f in found), found[0].rows, []
    lengths = Counter(f.rows for f in found if f.rows)
    action = next((f.rows for f in found if f.field.role == "action" and f.rows), 0)
    usual = action or (lengths.most_common(1)[0][0] if lengths else 0)
    kept = [f for f in found if f.rows]
    issues = [
        issue(index, "schema", "column_empty", f"{where}: {f.field.path} is empty", "Record it, or remove it.", f.field)
        for f in found
        if not f.rows and usual
    ]
    other = [f for f in kept if f.rows != usual]
    frames = min((f.rows for f in kept), default=0)
    if other:
        text = ", ".join(f"{f.field.path} {f.rows}" for f in other[:4])
        issues.append(
            issue(
                index,
                "schema",
                "lengths_differ",
                f"{where}: {len(other)} of its datasets have another length than {usual} frames ({text}); "
                f"the first {frames} frames are read, and nothing says whether they belong together",
                "Write the episode anew with one row a frame in every dataset, or drop it.",
                other[0].field,
                measured=float(other[0].rows),
                threshold=float(usual),
                unit="frames",
            )
        )
    issues += [
        issue(
            index,
            "files",
            "data_unwritten",
            f"{where}: room for {f.field.path} was made and nothing written into it; it reads as zeros",
            "Restore the values, or drop the episode.",
            f.field,
        )
        for f in kept
        if not f.written
    ]
    return tuple(f.field for f in kept), frames, issues


def absent(index: int, where: str, path: str, key: str, *, is_camera: bool = False) -> Issue:
    """A dataset that other episodes have and this one lacks."""
    return Issue(
        check="schema",
        code="camera_absent" if is_camera else "column_absent",
        kind=Kind.DEFECT,
        message=f"{where}: {path} is missing, which the other episodes have",
        fix="Restore the dataset, or drop the episode.",
        episode=index,
        subject=path,
        channel=None if is_camera else key,
        camera=key if is_camera else None,
    )


def deviations(
    index: int, where: str, own: Sequence[Field], lacking: Sequence[Field], usual: Mapping[str, Field]
) -> list[Issue]:
    """How an episode's fields differ from the usual ones.

    Args:
        index: the episode's number.
        where: how messages name it.
        own: its fields.
        lacking: the usual ones that it lacks.
        usual: what the corpus declares.
    """
    found = [absent(index, where, f.path, f.key, is_camera=f.is_camera) for f in lacking]
    return found + [_differs(index, where, f, usual[f.key]) for f in own if _size(f) != _size(usual[f.key])]


def _size(field: Field) -> tuple[int | None, ...]:
    return field.width, field.height_px, field.width_px


def _differs(index: int, where: str, field: Field, usual: Field) -> Issue:
    """A dataset whose rows are of another size than in other episodes."""
    here, there = ((f"{f.width_px} x {f.height_px}" if f.is_camera else f"{f.width} numbers") for f in (field, usual))
    return issue(
        index,
        "schema",
        "shape_differs",
        f"{where}: {field.path} has {here} a frame, most episodes have {there}",
        "Keep episodes of one robot and one camera setting in one corpus.",
        field,
    )
