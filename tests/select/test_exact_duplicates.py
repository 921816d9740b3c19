"""Which of several copies stays."""

from __future__ import annotations

from gristmill.select.exact_duplicates import first_copies


def test_the_first_stays() -> None:
    assert first_copies(["a", "b", "a", "c", "a", "b"], {}).tolist() == [-1, -1, 0, -1, 0, 1]


def test_unknown_contents_are_no_copies() -> None:
    assert first_copies(["", "", "a"], {}).tolist() == [-1, -1, -1]


def test_a_camera_that_both_have_tells_them_apart() -> None:
    values = ["a", "a", "a", "a"]
    top = ["x", "y", "x", ""]
    assert first_copies(values, {"top": top}).tolist() == [-1, -1, 0, 0]
    # The second is no copy of the first, so the last, seen by another camera only, is compared with both.
    assert first_copies(values, {"top": top, "side": ["", "s", "t", "t"]}).tolist() == [-1, -1, 0, 0]


def test_nothing() -> None:
    assert first_copies([], {}).tolist() == []
