"""Features as declared: names of every form found in the wild, roles, image sizes."""

from __future__ import annotations

from typing import Any

import pytest

from gristmill.formats.lerobot.declaration import Feature, brief, parse_feature


def feature(key: str = "action", dtype: str = "float32", shape: list[int] | None = None, **more: Any) -> Feature:
    return parse_feature(key, {"dtype": dtype, "shape": shape or [3]} | more, "info.json")


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["a", "b", "c"], ("a", "b", "c")),
        ([["a", "b", "c"]], ("a", "b", "c")),
        ([["a"], ["b", ["c"]]], ("a", "b", "c")),
        ({"motors": ["a", "b", "c"]}, ("a", "b", "c")),
        ({"left": ["a", "b"], "right": ["c"]}, ("a", "b", "c")),
        ({"arm": {"joints": ["a", "b"]}, "hand": ["c"]}, ("a", "b", "c")),
        ({"c": 2, "a": 0, "b": 1}, ("a", "b", "c")),
        ([1, 2, 3], ("1", "2", "3")),
        (["j", "j", "j"], ("j", "j.2", "j.3")),
        (["j", "j", "j.2"], ("j", "j.3", "j.2")),
        (["", "", "a"], ("", "", "a")),
    ],
    ids=str,
)
def test_names_are_flattened_in_order(names: object, expected: tuple[str, ...]) -> None:
    assert feature(names=names).flat_names == (expected, "")


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        (None, ""),
        ([], ""),
        ({}, ""),
        ([None], ""),
        (["a", "b"], "2 names for 3 numbers"),
        ({"motors": ["a"] * 9}, "9 names for 3 numbers"),
        ({"a": 0, "b": 1, "c": 7}, "the positions of the names are not 0, 1, 2, ..."),
        ([1.5, "a", "b"], "a name is 1.5"),
        ([[[[[[[[[["a"]]]]]]]]]], "names are nested too deeply"),
    ],
    ids=str,
)
def test_names_that_do_not_fit_are_left_out(names: object, problem: str) -> None:
    assert feature(names=names).flat_names == (("", "", ""), problem)


def test_names_of_axes_are_no_names_of_numbers() -> None:
    assert feature(shape=[2, 3], names=["rows", "columns"]).flat_names == (("",) * 6, "")


@pytest.mark.parametrize(
    ("key", "role"),
    [
        ("observation.state", "state"),
        ("observation.state.arm", "state"),
        ("state", "state"),
        ("observation.states", "other"),
        ("observation.environment_state", "other"),
        ("action", "action"),
        ("action.gripper", "action"),
        ("actions", "other"),
        ("next.reward", "reward"),
        ("next.done", "done"),
        ("next.success", "success"),
        ("success", "success"),
    ],
)
def test_roles(key: str, role: str) -> None:
    assert feature(key).role == role


@pytest.mark.parametrize(
    ("shape", "names", "info", "size"),
    [
        ([480, 640, 3], ["height", "width", "channels"], {}, (480, 640)),
        ([3, 480, 640], ["channels", "height", "width"], {}, (480, 640)),
        ([3, 480, 640], None, {}, (480, 640)),
        ([480, 640, 3], None, {}, (480, 640)),
        ([480, 640, 1], None, {}, (480, 640)),
        ([480, 640], None, {}, (None, None)),
        ([3, 10, 10], None, {"video.height": 480, "video.width": 640}, (480, 640)),
        ([480, 640, 3], None, {"video.height": "many", "video.width": -3}, (480, 640)),
    ],
    ids=str,
)
def test_the_size_of_images(shape: list[int], names: object, info: dict, size: tuple) -> None:
    camera = feature("front", "video", shape, names=names, info=info).camera(30.0)
    assert (camera.height, camera.width) == size


def test_what_a_camera_declares_under_either_key() -> None:
    info = {"video.fps": 15.0, "video.codec": "av1"}
    for key in ("info", "video_info"):
        camera = feature("front", "video", [4, 4, 3], **{key: info}).camera(30.0)
        assert (camera.rate_hz, camera.codec) == (15.0, "av1")
    bare = feature("front", "video", [4, 4, 3], info=["strange"]).camera(30.0)
    assert (bare.rate_hz, bare.codec) == (30.0, None)


def test_a_value_is_shown_short_whatever_it_is() -> None:
    deep: list = []
    for _ in range(5000):
        deep = [deep]
    for value in (deep, {"a": deep}, "x" * 10**6, list(range(10**5)), 10**300):
        assert len(brief(value)) <= 60
