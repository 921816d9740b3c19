"""Settings refuse what they do not know, and say where."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import pytest

from gristmill.errors import RecipeError
from gristmill.settings import build, read_toml


@dataclass(frozen=True)
class Inner:
    limit: float = 0.5
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outer:
    mode: Literal["a", "b"] = "a"
    count: int = 1
    offset: float = -1.0
    share: float = field(default=0.5, metadata={"max": 1.0})
    maybe: str | None = None
    inner: Inner = field(default_factory=Inner)


def test_values_arrive_with_their_types() -> None:
    made = build(Outer, {"count": 3, "offset": -2, "inner": {"limit": 1, "names": ["x"]}, "maybe": "m"}, "")
    assert made == Outer(count=3, offset=-2.0, maybe="m", inner=Inner(limit=1.0, names=("x",)))
    assert isinstance(made.inner.limit, float)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"cuont": 3}, "cuont: unknown key; did you mean 'count'?"),
        ({"inner": {"limt": 3}}, "inner.limt: unknown key; did you mean 'limit'?"),
        ({"count": "3"}, "count: expected a whole number, got '3'"),
        ({"count": True}, "count: expected a whole number, got True"),
        ({"count": 1.5}, "count: expected a whole number, got 1.5"),
        ({"count": -1}, "count: must be at least 0, got -1"),
        ({"share": 1.2}, "share: must be at most 1.0, got 1.2"),
        ({"inner": {"limit": float("nan")}}, "inner.limit: must be finite, got nan"),
        ({"inner": {"names": ["a", 3]}}, "inner.names[1]: expected text, got 3"),
        ({"inner": 3}, "inner: expected a table, got 3"),
        ({"mode": "c"}, "mode: 'c' is not one of 'a', 'b'"),
    ],
)
def test_mistakes_name_their_key(table: dict, message: str) -> None:
    with pytest.raises(RecipeError) as caught:
        build(Outer, table, "")
    assert str(caught.value) == message


def test_a_file_that_is_no_toml_is_one_line(tmp_path) -> None:
    bad = tmp_path / "r.toml"
    bad.write_text("a = [")
    with pytest.raises(RecipeError, match=r"r\.toml: not valid TOML"):
        read_toml(bad)
    with pytest.raises(RecipeError, match="no such file"):
        read_toml(tmp_path / "absent.toml")
