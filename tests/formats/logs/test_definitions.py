"""Message definitions: the grammar of both ROS versions, and definitions that are meant to do harm."""

from __future__ import annotations

import pytest

from gristmill.formats.logs.definitions import DefinitionError, parse

LINE = "=" * 80


def fields(text: str, *, ros1: bool = False, name: str = "pkg/msg/Thing") -> list[tuple]:
    return [(f.name, f.number or f.text or f.struct.name, f.length) for f in parse(name, text, ros1=ros1).fields]


def test_fields_constants_comments_and_defaults() -> None:
    text = """
# a comment
int32 LIMIT=5
string MOTTO = hold # tight
float64 speed 0.5   # a default
uint8[] raw
float32[3] axis
string<=10 label "x"
bool[<=4] flags
geometry_msgs/Point[2] corners
"""
    text += f"{LINE}\nMSG: geometry_msgs/Point\nfloat64 x\nfloat64 y\nfloat64 z\n"
    assert fields(text) == [
        ("speed", "f8", None),
        ("raw", "u1", -1),
        ("axis", "f4", 3),
        ("label", "string", None),
        ("flags", "?", -1),
        ("corners", "geometry_msgs/Point", 2),
    ]


def test_ros1_has_time_header_and_a_signed_byte() -> None:
    text = f"Header header\ntime when\nduration span\nbyte level\nchar sign\n{LINE}\nMSG: std_msgs/Header\nuint32 seq\n"
    assert fields(text, ros1=True) == [
        ("header", "std_msgs/Header", None),
        ("when", "time", None),
        ("span", "duration", None),
        ("level", "i1", None),
        ("sign", "u1", None),
    ]


def test_a_message_of_the_same_package_needs_no_package() -> None:
    text = f"Part part\n{LINE}\nMSG: pkg/Part\nint8 x\n{LINE}\nMSG: other/Part\nint8 y\n"
    part = parse("pkg/msg/Thing", text, ros1=False).fields[0].struct
    assert part is not None and [f.name for f in part.fields] == ["x"]


def test_a_service_event_is_its_info_with_request_and_response() -> None:
    assert fields("int64 a\n---\nint64 sum\n", name="demo/srv/Add_Event") == [
        ("info", "service_msgs/ServiceEventInfo", None),
        ("request", "demo/srv/Add_Request".replace("srv/", ""), -1),
        ("response", "demo/Add_Response", -1),
    ]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("pkg/Thing self\n", "within itself"),
        ("pkg/A a\n" + "".join(f"{LINE}\nMSG: pkg/{a}\npkg/{b} x\n" for a, b in ("AB", "BA")), "within itself"),
        ("other/Missing m\n", "does not say what a other/Missing is"),
        ("__import__('os').system('true')\n", "no field"),
        ("int32\n", "no field"),
        ("int32 a b\nint32[-1] c\n", "no field"),
        ("int8 a\n" * 20_001, "more than 20000 fields"),
        ("#" * (5 << 20), "characters"),
    ],
)
def test_bad_definitions_are_one_line(text: str, what: str) -> None:
    with pytest.raises(DefinitionError, match=what) as caught:
        parse("pkg/msg/Thing", text, ros1=False)
    assert "\n" not in str(caught.value)


def test_nesting_is_bounded() -> None:
    text = "pkg/T0 x\n" + "".join(f"{LINE}\nMSG: pkg/T{i}\npkg/T{i + 1} x\n" for i in range(100))
    with pytest.raises(DefinitionError, match="too deeply"):
        parse("pkg/msg/Thing", text, ros1=False)
