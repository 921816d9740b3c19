"""Runs of true cells."""

from __future__ import annotations

import numpy as np

from gristmill.runs import runs_of, widened


def mask(text):
    return np.array([c == "x" for c in text])


def test_runs():
    assert runs_of(mask("xx.xxx.x")) == [(0, 2), (3, 6), (7, 8)]
    assert runs_of(mask("xx.xxx.x"), shortest=2) == [(0, 2), (3, 6)]
    assert runs_of(mask("....")) == []
    assert runs_of(mask("")) == []
    assert runs_of(mask("xxx")) == [(0, 3)]


def test_widened():
    assert (widened(mask("...x...x"), 1, 2) == mask("..xxxxxx")).all()
    assert (widened(mask("x......."), 3, 0) == mask("x.......")).all()
