"""When rows on their way to disk are written."""

from __future__ import annotations

import pytest
from small_stores import stage_rows

from gristmill.store import Pending, Store, pending


class Clock:
    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(pending, "time", made)
    return made


def written(store: Store, stage: str) -> int:
    return len(store.table(stage, "k"))


def add(waiting: Pending, stage: str, numbers: range, *, costly: bool = False) -> None:
    waiting.add(stage, "k", stage_rows(*numbers), about={"parts": "values"}, costly=costly)
    waiting.flush()


def test_cheap_rows_wait_for_many_rows_and_for_time(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pending, "ROWS", 2000)
    waiting = Pending(store)
    add(waiting, "spike", range(1500))
    clock.now += 10  # time alone is not enough
    add(waiting, "spike", range(1500, 1600))
    assert written(store, "spike") == 0
    add(waiting, "spike", range(1600, 2200))
    assert written(store, "spike") == 2200
    add(waiting, "spike", range(2200, 5000))  # nor are rows alone
    assert written(store, "spike") == 2200
    clock.now += 3
    waiting.flush()
    assert written(store, "spike") == 5000
    assert store.table("spike", "k").fragments == 2


def test_rows_that_took_decoding_are_written_every_few_seconds(store: Store, clock: Clock) -> None:
    waiting = Pending(store)
    add(waiting, "blur", range(2), costly=True)
    clock.now += 4
    add(waiting, "spike", range(2))
    assert (written(store, "blur"), written(store, "spike")) == (2, 0)


def test_nothing_waits_for_ever(store: Store, clock: Clock) -> None:
    waiting = Pending(store)
    add(waiting, "spike", range(2))
    clock.now += 31
    waiting.flush()
    assert written(store, "spike") == 2


def test_nothing_grows_without_bound(store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending, "BYTES", 1000)
    waiting = Pending(store)
    add(waiting, "lag", range(1))
    assert written(store, "lag") == 0
    add(waiting, "spike", range(100))
    assert (written(store, "lag"), written(store, "spike")) == (1, 100)


def test_everything_is_written_at_the_end(store: Store, clock: Clock) -> None:
    waiting = Pending(store)
    add(waiting, "spike", range(3))
    add(waiting, "lag", range(2))
    waiting.flush(everything=True)
    waiting.flush(everything=True)
    assert (written(store, "spike"), written(store, "lag")) == (3, 2)
