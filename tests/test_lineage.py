"""How a training set came about, in plain values."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar

from gristmill.check import Column, Reads, measuring
from gristmill.embodiment import Embodiment
from gristmill.lineage import lineage
from gristmill.stage_keys import key_of, traces_key


@dataclass(frozen=True, kw_only=True)
class Asked:
    version: ClassVar[int] = 2
    reads: ClassVar[Reads] = Reads(motion=True)
    columns: ClassVar[tuple[Column, ...]] = (Column("x"),)
    same_below: float = measuring(0.25)
    limit: float = 1.0


def made(**changes: Any) -> dict[str, Any]:
    given = {
        "version": "0.1.0",
        "checks": {"b": Asked(), "a": Asked()},
        "cards": [Embodiment(key="so101", title="x"), Embodiment(key="koch", title="y")],
        "waivers": {("c/000002", "spike"): "why", ("c/000001", "spike"): "because"},
    }
    return lineage(**(given | changes))


def test_order_does_not_matter() -> None:
    other = made(
        checks={"a": Asked(), "b": Asked()},
        cards=[Embodiment(key="koch", title="y"), Embodiment(key="so101", title="x")] * 2,
        waivers={("c/000001", "spike"): "because", ("c/000002", "spike"): "why"},
        annotators={},
    )
    assert json.dumps(made()) == json.dumps(other)


def test_what_decides_is_in_it() -> None:
    base = json.dumps(made())
    for change in (
        {"version": "0.2.0"},
        {"checks": {"a": Asked()}},
        {"checks": {"b": Asked(same_below=0.5), "a": Asked()}},
        {"cards": [Embodiment(key="so101", title="x", rate_hz=30.0)]},
        {"waivers": {}},
        {"annotators": {"captions": "3"}},
    ):
        assert json.dumps(made(**change)) != base, change
    # Thresholds are in the recipe.
    assert json.dumps(made(checks={"b": Asked(limit=2.0), "a": Asked()})) == base


def test_keys_of_stages() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Wider(Asked):
        columns: ClassVar[tuple[Column, ...]] = (Column("x"), Column("y"))

    @dataclass(frozen=True, kw_only=True)
    class Seeing(Asked):
        reads: ClassVar[Reads] = Reads(motion=True, traces=True)

    keys = {key_of("q", check) for check in (Asked(), Wider(), Seeing(), Asked(same_below=1.0))}
    assert len(keys) == 4
    assert key_of("q", Asked()) == key_of("q", Asked(limit=9.0))
    assert key_of("q", Asked()).startswith("q:2:")
    assert traces_key().startswith("traces:")
