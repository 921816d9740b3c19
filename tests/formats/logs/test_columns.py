"""Columns of channels: which numbers of a message count, what they are called, and where they go."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gristmill.errors import RecordingError
from gristmill.formats.logs.columns import MAX_WIDTH, Filling, NumberPlan, places, shown
from gristmill.formats.logs.ros_bytes import Group
from gristmill.formats.logs.topic_map import beside, slug


def group(numbers: dict[str, Any], arrays: tuple[str, ...] = (), **texts: Any) -> Group:
    """One message; numbers are (n, count) or plain lists."""
    tables = {k: np.atleast_2d(np.asarray(v)) for k, v in numbers.items()}
    rows = np.arange(len(next(iter(tables.values()))))
    return Group(rows, tables, texts, (tuple(numbers), repr(texts)), arrays)


def labels(of: Group, field: str = "") -> list[str]:
    return [p.label for p in places(of, field)]


def test_what_counts_of_a_message() -> None:
    message = group(
        {
            "header.stamp.sec": [1],
            "header.seq": [2],
            "layout.data_offset": [0],
            "timestamp.nanos": [3],
            "pose.position.x": [1.5],
            "gains": [1.0, 2.0],
            "image": np.zeros((1, 9), np.uint8),
            "level": np.array([[3]], np.uint8),
        },
        arrays=("gains", "image"),
    )
    assert labels(message) == ["pose.position.x", "gains[0]", "gains[1]", "level"]
    assert labels(message, "gains") == ["gains[0]", "gains[1]"]
    assert labels(message, "pose") == ["pose.position.x"]
    assert len(labels(message, "image")) == 9
    assert labels(message, "gain") == []


def test_wide_messages_stop_being_counted() -> None:
    assert len(places(group({"ranges": np.zeros((1, 10**6))}, arrays=("ranges",)), "")) == MAX_WIDTH + 1


def test_names_that_do_not_fit_their_values_give_nothing() -> None:
    message = group(
        {"position": [1.0, 2.0], "velocity": np.empty((1, 0))}, ("position", "velocity"), name=("a", "b", "c")
    )
    assert labels(message) == labels(message, "velocity") == []


@pytest.mark.parametrize(
    ("paths", "field", "names"),
    [
        (
            ["pose.position.x", "pose.position.y", "pose.orientation.w"],
            "",
            ["position.x", "position.y", "orientation.w"],
        ),
        (["linear.x", "angular.x"], "", ["linear.x", "angular.x"]),
        (["data"], "", ["data"]),
        (["wrench.force.x", "wrench.force.y"], "wrench.force", ["x", "y"]),
        (["data[0]", "data[1]"], "data", ["data[0]", "data[1]"]),
        ([], "", []),
    ],
)
def test_shown_names_leave_out_what_all_share(paths: list[str], field: str, names: list[str]) -> None:
    assert list(shown(paths, field)) == names


def test_filling_by_name() -> None:
    filling = Filling(NumberPlan(field="", labels=("a", "b", "c")), 4)
    both = group({"position": [[1.0, 2.0], [3.0, 4.0]]}, ("position",), name=("b", "a"))
    filling.add(np.array([2, 0]), both)
    filling.add(np.array([3]), group({"position": [[7.0]]}, ("position",), name=("c",)))
    nan = np.nan
    expected = [[4, 3, nan], [nan] * 3, [2, 1, nan], [nan, nan, 7]]
    assert np.array_equal(filling.values, expected, equal_nan=True)
    with pytest.raises(RecordingError, match="d appears"):
        filling.add(np.array([1]), group({"position": [[7.0]]}, ("position",), name=("d",)))


def test_keys_from_topics() -> None:
    cameras = ["/front/color/image_raw", "/wrist/color/image_raw/compressed"]
    assert [slug(c, cameras) for c in cameras] == ["front", "wrist"]
    assert slug("/camera/image_raw", ["/camera/image_raw"]) == "camera_image_raw"
    assert slug("/a-b/c d", ["/a-b/c d"]) == "a_b_c_d"
    assert beside("observation.state.arm", "effort") == "observation.effort.arm"
    assert beside("arm.left", "effort") == "arm.left.effort"
