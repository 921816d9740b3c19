"""What can be wrong with a demonstration or with its file, in words."""

from __future__ import annotations

from gristmill.finding import Issue, Kind
from gristmill.formats.hdf5.fields import issue

_RESTORE = "Restore the file from its source."


def twice(file: str, first: str, second: str) -> Issue:
    """Two groups of one number."""
    message = f"{file}: {first} and {second} have the same number; {second} is not read"
    return issue(None, "pointers", "episode_numbers", message, "Rename one of them.", subject=second)


def cut(file: str, real: int, end: int, lost: list[str], listed: int) -> Issue:
    """A file that ends too early."""
    what = (
        f"{len(lost)} of its {listed} demonstrations lie behind the cut" if lost else "no listed demonstration is lost"
    )
    names = f" ({', '.join(lost[:5])}{', ...' if len(lost) > 5 else ''})" if lost else ""
    message = f"{file} is cut off: it holds {real:,} of {end:,} bytes; {what}{names}, the others are whole"
    return issue(
        None,
        "files",
        "truncated",
        message,
        _RESTORE,
        subject=file,
        measured=float(real),
        threshold=float(end),
        unit="bytes",
    )  # fmt: skip


def no_json(file: str) -> Issue:
    """Attributes that say nothing."""
    message = f"{file}: env_args is no JSON object, so nothing is known of robot, rate and task"
    return issue(None, "schema", "env_args", message, "Write env_args anew.", subject="env_args", kind=Kind.RISK)


def no_count(index: int, where: str) -> Issue:
    """A count that is none."""
    message = f"{where}: num_samples is no whole number; its frames are counted from the data"
    return issue(index, "schema", "num_samples", message, "Correct num_samples.", subject="num_samples", kind=Kind.RISK)


def count_lie(index: int, where: str, declared: int, frames: int) -> Issue:
    """A count that is wrong."""
    return issue(
        index,
        "files",
        "count_lie",
        f"{where}: num_samples promises {declared} frames, its datasets hold {frames}",
        "Correct num_samples, or restore the rows; an export counts what is there.",
        subject="num_samples",
        measured=float(frames),
        threshold=float(declared),
        unit="frames",
    )


def total_lie(file: str, total: int, frames: int) -> Issue:
    """A sum that is wrong."""
    return issue(
        None,
        "files",
        "total_frames",
        f"{file}: total says {total} frames, its demonstrations hold {frames}",
        "Correct total; readers that trust it count wrong.",
        subject="total",
        measured=float(frames),
        threshold=float(total),
        unit="frames",
        kind=Kind.RISK,
    )


def unreadable(index: int, where: str, path: str, why: str) -> Issue:
    """Actions that cannot be read."""
    return issue(
        index,
        "schema",
        "column_unreadable",
        f"{where}: {path} {why}",
        "Write it as plain numbers.",
        channel="action",
        subject=path,
    )


def no_observations(index: int, where: str) -> Issue:
    """A demonstration without observations among others that have them."""
    return issue(
        index,
        "schema",
        "observations_absent",
        f"{where}: it has no observations, which the other episodes have",
        "Extract its observations from the simulator's states, or drop it.",
        subject="obs",
    )


def strange_mask(file: str, mask: str, names: list[str]) -> Issue:
    """A filter key that names what is not there."""
    message = f"{file}: mask/{mask} names {len(names)} demonstrations that are not there, {names[0]!r} first"
    return issue(
        None, "pointers", "mask", message, "Remove them from the mask.", subject=f"mask/{mask}", kind=Kind.RISK
    )  # fmt: skip
