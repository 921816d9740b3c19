"""Stores with a little in them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from gristmill.store import Store

sys.path.insert(0, str(Path(__file__).parent))

from small_stores import stage_rows, state


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store") as opened:
        yield opened


@pytest.fixture
def measured(store: Store, tmp_path: Path) -> Callable[..., None]:
    """Puts a corpus with measured episodes into the store."""

    def put(corpus: str, numbers: Sequence[int], stage: str = "spike", key: str = "spike:1") -> None:
        store.append(stage, key, [stage_rows(*numbers)], about={"parts": "values"})
        store.finish(corpus, str(tmp_path / corpus), state(*numbers, corpus=corpus), {stage: key})

    return put
