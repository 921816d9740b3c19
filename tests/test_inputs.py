"""Inputs: what tells one set of measured content from another."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.check import Reads
from gristmill.inputs import Parts, combine, hexadecimal, inputs, label, lanes, number, pair, recipe

CAMERAS = ("observation.images.top", "observation.images.wrist")
PAIRS = st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))


def digests(seed: int, count: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(seed)
    names = ["values", "task", "meta", "issues", *(f"{part}:{c}" for c in CAMERAS for part in ("camera", "pace"))]
    drawn = {name: tuple(rng.integers(0, 2**64, (2, count), dtype=np.uint64)) for name in names}
    return {**drawn, "card": pair("ab" * 16), "layout": pair("cd" * 16), "length": number(rng.integers(1, 500, count))}


@pytest.mark.parametrize(
    ("reads", "text"),
    [
        (Reads(), ""),
        (Reads(channels=True), "values+layout+length"),
        # Shared motion looks at the card, whether or not the check declares it.
        (Reads(motion=True), "values+card+layout+length"),
        (Reads(task=True), "task+layout+length"),
        (Reads(meta=True, traces=True), "meta+cameras+layout+length"),
        (Reads(packets=True, card=True), "cameras+card+layout+length"),
    ],
)
def test_parts_follow_what_a_check_reads(reads: Reads, text: str) -> None:
    assert Parts.of(reads).text == text
    assert Parts.parse(text) == Parts.of(reads)


@pytest.mark.parametrize("reads", [Reads(motion=True), Reads(meta=True, task=True), Reads(packets=True, channels=True)])
def test_arrays_and_numbers_mix_alike(reads: Reads) -> None:
    parts, given_digests = Parts.of(reads), digests(1, 20)
    mixed = inputs(parts, CAMERAS, given_digests, 20)
    for row in (0, 7, 19):
        one = {
            name: tuple(int(lane[row]) if isinstance(lane, np.ndarray) else lane for lane in pair_)
            for name, pair_ in given_digests.items()
        }
        single = combine((mark, one[name]) for mark, name in recipe(parts, CAMERAS))
        assert single == tuple(mixed[row].tolist())


def test_every_part_and_the_order_of_cameras_matter() -> None:
    parts = Parts.of(Reads(channels=True, task=True, meta=True, packets=True, card=True))
    base = digests(2, 4)
    before = inputs(parts, CAMERAS, base, 4)
    for name in base:
        changed = base | {name: pair("ef" * 16)}
        assert (inputs(parts, CAMERAS, changed, 4) != before).any(axis=1).all(), name
    assert (inputs(parts, CAMERAS[::-1], base, 4) != before).any(axis=1).all()


def test_a_part_that_is_not_read_does_not_matter() -> None:
    base = digests(3, 4)
    parts = Parts.of(Reads(channels=True))
    changed = base | {"task": pair("ef" * 16), "card": pair("01" * 16), "camera:" + CAMERAS[0]: pair("23" * 16)}
    np.testing.assert_array_equal(inputs(parts, CAMERAS, base, 4), inputs(parts, CAMERAS, changed, 4))


def test_a_check_that_reads_nothing_has_one_input_for_all() -> None:
    assert len(np.unique(inputs(Parts(()), (), {}, 5), axis=0)) == 1


@given(PAIRS, PAIRS, PAIRS)
def test_mixing_one_more_digest_loses_nothing(start: tuple[int, int], a: tuple[int, int], b: tuple[int, int]) -> None:
    mark = label("values")
    first = combine([(label("card"), start), (mark, a)])
    second = combine([(label("card"), start), (mark, b)])
    assert (first == second) == (a == b)


def test_no_two_of_many_inputs_are_equal() -> None:
    # Lengths and digests that differ in few bits are the hardest to keep apart.
    count = 1 << 16
    numbers = np.arange(count, dtype=np.uint64)
    given_digests = {
        "values": (numbers % np.uint64(256), numbers // np.uint64(256)),
        "length": number(numbers),
        "layout": (0, 0),
    }
    mixed = inputs(Parts.of(Reads(channels=True)), (), given_digests, count)
    assert len(np.unique(mixed[:, 0])) == count
    assert len(np.unique(mixed[:, 1])) == count


def test_digests_survive_the_way_to_lanes_and_back() -> None:
    texts = ["0123456789abcdef0123456789abcdef", "", "ff" * 16]
    assert hexadecimal(lanes(texts)) == texts
    assert [tuple(row) for row in lanes(texts).tolist()] == [pair(text) for text in texts]
    # The first byte is the lowest of the first lane.
    assert pair("01" + "00" * 15) == (1, 0)
