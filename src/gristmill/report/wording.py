"""Sentences: what an audit says in one line, and what a check, a kind and a verdict mean."""

from __future__ import annotations

from functools import cache

from gristmill import plugins
from gristmill.audit import Audit, Verdict
from gristmill.errors import GristmillError
from gristmill.finding import Kind
from gristmill.report import figures
from gristmill.report.survey import Survey

KIND_MEANS = {
    Kind.DEFECT: "the data is wrong",
    Kind.RISK: "it probably hurts training",
    Kind.TRAIT: "a fact worth knowing",
}
VERDICT_MEANS = {
    Verdict.KEEP: "train on it as it is",
    Verdict.TRIM: "train on it after cutting the flagged ends",
    Verdict.QUARANTINE: "set aside until someone has looked",
    Verdict.DROP: "do not train on it",
}
USES = {"low_dim": "Low-dimensional policies", "vision": "Vision policies"}


def verdict_sentence(audit: Audit, found: Survey) -> str:
    """The whole audit in one sentence."""
    n = len(audit.index)
    if n == 0:
        return "No episode was audited."
    keep, trim, aside, drop = (found.count(v) for v in Verdict)
    good = keep + trim
    if good == n and not trim:
        return (
            "The one episode is fit to train on." if n == 1 else f"All {figures.count(n)} episodes are fit to train on."
        )
    if not good:
        return f"None of the {figures.count(n, 'episode')} is fit to train on as it stands."
    train = f"Train on {'all' if good == n else f'{figures.count(good)} of'} {figures.count(n, 'episode')}"
    if trim:
        train += ", after a trim" if trim == good else f", {figures.count(trim)} of them trimmed"
    bad = [f"set {figures.count(aside)} aside"] if aside else []
    bad += [f"drop {figures.count(drop)}"] if drop else []
    return f"{train}; {' and '.join(bad)}." if bad else f"{train}."


def without_place(message: str, index: int) -> str:
    """The message without the episode's name in front, where something beside it says that already."""
    for mark in (":", ","):
        start = f"episode {index}{mark} "
        if message.startswith(start):
            return message[len(start) :]
    return message


def title(check: str) -> str:
    """`frozen_frames` -> `Frozen frames`."""
    return check.replace("_", " ").capitalize()


@cache
def about(check: str) -> str:
    """A check's question, from its docstring's first line; "" when the check is not installed here."""
    doc = _documentation(check)
    line = doc.strip().split("\n", 1)[0].strip()
    return line if not line or line[-1] in ".?!" else f"{line}."


@cache
def column(check: str, name: str) -> tuple[str, str]:
    """What a measured column means and its unit, as the check declares them."""
    for declared in getattr(_plugin(check), "columns", ()):
        if declared.name == name:
            return declared.about, declared.unit
    return "", ""


def _documentation(check: str) -> str:
    return getattr(_plugin(check), "__doc__", None) or ""


@cache
def _plugin(check: str) -> type | None:
    """The check's class, or None: an audit may be shown where its checks are not installed."""
    try:
        return plugins.load("checks", check)
    except GristmillError:
        return None
