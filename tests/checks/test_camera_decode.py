from dataclasses import replace

import pytest

from gristmill.checks.camera_decode import CameraDecode
from gristmill.finding import Kind
from gristmill.testing import CheckContract, judge, manifest_of, reaching
from gristmill.testing.filming import FRONT, WRIST, filmed


def damaged(index, kept):
    """Decoding of the front camera stops after `kept` of 120 frames."""
    base = filmed(index)
    traces = base.traces(FRONT)
    names = [n for n in traces.__slots__ if n not in ("stride", "lost")]
    cut = replace(traces, **{n: getattr(traces, n)[:kept] for n in names}, lost=120 - kept)
    found = {FRONT: cut, WRIST: base.traces(WRIST)}
    return replace(base, load_traces=found.get)


class TestCameraDecode(CheckContract):
    check = CameraDecode()

    def clean_episode(self, index):
        return filmed(index)

    def broken_episode(self, index):
        return damaged(index, 75)


@pytest.mark.parametrize(("kept", "begin_s"), [(75, 2.5), (0, 0.0)])
def test_the_span_begins_where_decoding_stops(kept, begin_s):
    (found,) = judge(CameraDecode(), [filmed(0), damaged(1, kept)])
    assert (found.row, found.camera, found.kind, found.code) == (1, FRONT, Kind.DEFECT, "video_damaged")
    assert found.spans_s[0] == pytest.approx((begin_s, 4.0))
    assert found.measured == 120 - kept


def test_what_was_not_decoded_is_unknown():
    cameras = filmed(0).cameras
    manifest = manifest_of(CameraDecode(), [reaching(0, cameras=cameras)])
    assert manifest.unknown == (f"no decoded frames of {FRONT}, {WRIST}",)
