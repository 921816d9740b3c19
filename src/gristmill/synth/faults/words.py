"""Faults of the task text: nothing said, or nothing meant."""

from __future__ import annotations

import numpy as np

from gristmill.finding import Kind
from gristmill.synth.edit.draft import Draft
from gristmill.synth.faults.fault import CannotHostError, Fault, Mark, Plant
from gristmill.synth.faults.signals import Signals


def says(text: str) -> Plant:
    """All rows of the episode get this task."""

    def plant(draft: Draft, signals: Signals, rng: np.random.Generator, severity: float) -> Mark:
        if "task_index" not in draft.rows.column_names:
            raise CannotHostError("the rows carry no task_index")
        draft.task = text
        return Mark()

    return plant


FAULTS = (
    Fault(
        name="empty_task",
        check="task_text",
        kind=Kind.DEFECT,
        severity=1,
        unit="tasks",
        about="the task is an empty text",
        plant=says(""),
        scales=False,
    ),
    Fault(
        name="placeholder_task",
        check="task_text",
        kind=Kind.RISK,
        severity=1,
        unit="tasks",
        about='the task is "test"',
        plant=says("test"),
        scales=False,
    ),
)
