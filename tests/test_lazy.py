"""Attributes computed once."""

from __future__ import annotations

from gristmill.lazy import lazy


class Counted:
    def __init__(self) -> None:
        self.calls = 0

    @lazy
    def number(self) -> int:
        """How often it was computed."""
        self.calls += 1
        return self.calls


def test_it_is_computed_once_an_instance_and_kept_where_copies_find_it():
    one, other = Counted(), Counted()
    assert (one.number, one.number, other.number) == (1, 1, 1)
    assert vars(one) == {"calls": 1, "number": 1}
    del one.number
    assert one.number == 2


def test_the_class_shows_its_documentation():
    assert Counted.number.__doc__ == "How often it was computed."
