"""Events by episode and channel."""

from __future__ import annotations

import numpy as np

from gristmill.finding import Event
from gristmill.grouping import by_channel, listed, strongest, when
from gristmill.manifest import Events


def test_groups_keep_the_order_of_time():
    events = Events(
        row=np.array([0, 0, 2]),
        start_s=np.array([5.0, 1.0, 3.0]),
        end_s=np.array([6.0, 1.5, 4.0]),
        strength=np.array([2.0, 7.0, 1.0]),
        channel=["a", "a", "b"],
        camera=[None] * 3,
        detail=["late", "early", ""],
    )
    first, second = by_channel(events)
    assert (first.row, first.channel, first.details) == (0, "a", ("early", "late"))
    assert first.spans_s == ((1.0, 1.5), (5.0, 6.0))
    assert first.strongest == 7
    assert first.total_s == 1.5
    assert (second.row, second.channel) == (2, "b")
    assert [g.row for g in by_channel(events, np.array([False, True, False]))] == [0]


def test_only_the_strongest_are_kept_in_their_order():
    events = [Event(float(i), float(i), float(s)) for i, s in enumerate([1, 9, 3, 8])]
    assert [e.strength for e in strongest(events, 2)] == [9, 8]
    assert strongest(events, 4) is events


def test_words_for_spans():
    assert when([(1.0, 1.03)]) == "at 1.00 s"
    assert when([(1.0, 2.0)]) == "from 1.00 to 2.00 s"
    assert when([(i, i + 0.01) for i in range(5)]) == "at 0.00 s, 1.00 s, 2.00 s and 2 more times"
    assert listed("abcdefgh") == "a, b, c, d, e, f and 2 more"
    assert listed("ab") == "a, b"
