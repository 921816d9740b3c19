"""What each topic becomes: as the user says, or as its type and name suggest."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gristmill.errors import RecipeError
from gristmill.formats.logs.columns import JOINT_FIELDS, MAX_WIDTH
from gristmill.formats.logs.looking import View
from gristmill.formats.logs.options import LogOptions, TopicRole, TopicRule
from gristmill.settings import suggest

TRAJECTORY_FIELD = "points[0].positions"  # the first point of a trajectory is where to go next
_ACTION = re.compile(r"command|cmd|action|target|desired|setpoint|goal|reference")
_STATE = re.compile(r"state|position|observation|measured|encoder")
_TASK = re.compile(r"instruction|task|language|prompt")
_POSE = re.compile(r"(Pose|PoseStamped|PoseInFrame|PoseWithCovarianceStamped|Transform|TransformStamped|Odometry)$")
# Topics that ROS itself keeps, and types that describe a set-up instead of what happens.
_HOUSEKEEPING = re.compile(
    r"/?(rosout(_agg)?|parameter_events|events/.*|diagnostics.*|tf|tf_static|clock|robot_description)"
)
_SETUP = re.compile(
    r"(CameraInfo|CameraCalibration|Log|ParameterEvent|ParameterUpdate|TFMessage|_Event|DiagnosticArray)$"
)
# Parts of a camera's topic that every camera has.
_COMMON_PARTS = re.compile(
    r"^(image(_raw|_rect|_color|_rect_color|_mono)?|compressed|color|rgb|camera|h26[45]|video|raw)$"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What one topic becomes, and why."""

    rule: TopicRule
    why: str


def decide(views: Mapping[str, Sequence[View]], options: LogOptions) -> dict[str, Decision]:
    """What becomes of each topic.

    Args:
        views: topic -> how it looks in each log that has it.
        options: the user's; their topics count where there are any.

    Raises:
        RecipeError: a rule names no topic, or gives two topics one key, or asks for what the topic does not hold.
    """
    if not options.topics:
        return propose(views)
    for name in options.topics:
        if name not in views:
            raise RecipeError(f"options.topics.{name}: the log has no such topic; {suggest(name, views)}")
    decisions = {}
    for name, seen in views.items():
        rule = options.topics.get(name)
        if rule is None:
            decisions[name] = Decision(rule=TopicRule(role="ignore"), why="it is not in the topic map")
        else:
            decisions[name] = Decision(rule=_filled(name, rule, seen[0]), why="the topic map says so")
    _distinct(decisions)
    return decisions


def propose(views: Mapping[str, Sequence[View]]) -> dict[str, Decision]:
    """What each topic probably is, from its type and name."""
    roles = {name: _role(name, seen[0], [v for group in views.values() for v in group]) for name, seen in views.items()}
    named: dict[TopicRole, list[str]] = {}
    for name, (role, _) in roles.items():
        named.setdefault(role, []).append(name)
    decisions = {}
    for name, (role, why) in roles.items():
        key = ""
        if role in ("state", "action"):
            base = "observation.state" if role == "state" else "action"
            key = base if len(named[role]) == 1 else f"{base}.{slug(name, named[role])}"
        elif role in ("camera", "other"):
            base = "observation.images" if role == "camera" else "observation"
            key = f"{base}.{slug(name, named[role])}"
        field = TRAJECTORY_FIELD if views[name][0].type.endswith("JointTrajectory") and role == "action" else ""
        decisions[name] = Decision(rule=TopicRule(role=role, key=key, field=field), why=why)
    return decisions


def _role(name: str, view: View, everything: Sequence[View]) -> tuple[TopicRole, str]:
    low, base = name.lower(), re.split(r"[/.]", view.type)[-1]
    if view.sort in ("unreadable", "nothing"):
        return "ignore", view.why
    if _HOUSEKEEPING.fullmatch(low) or _SETUP.search(base):
        return "ignore", "it tells of the recording or the set-up, not of what the robot did"
    if view.picture is not None:
        if view.picture.sort == "depth":
            return "ignore", "depth"
        if view.picture.sort == "unknown":
            return "ignore", f"pictures of encoding {view.picture.encoding!r} are not read"
        return "camera", f"its messages are pictures ({view.picture.encoding or base})"
    if view.sort == "text":
        if _TASK.search(low):
            return "task", "it is text, and its name says that it instructs"
        return "ignore", "it is text; give it the role task if it is the instruction"
    if view.wide:
        return "ignore", f"a message holds more than {MAX_WIDTH} numbers; choose a part of it with field"
    if _ACTION.search(low) or _ACTION.search(base.lower()):
        return "action", "its name or type says that it commands"
    if base == "JointTrajectory":
        return "action", "its first point says where to go next"
    if view.sort == "joints" and view.nameless:
        return (
            "state",
            "its messages are positions of joints without names, called joint_0, joint_1, ... in their order",
        )
    if view.sort == "joints":
        return "state", "its messages name joints and their positions"
    if "gripper" in low:
        return "state", "its name says gripper"
    has_joints = any(v.sort == "joints" and not _ACTION.search(v.name.lower()) for v in everything)
    if not has_joints and (_POSE.search(base) or _STATE.search(low)):
        return "state", "its type or name says that it measures, and no topic names joints"
    return "other", "it holds numbers that are neither joints nor commands"


def slug(name: str, among: Sequence[str]) -> str:
    """A topic's name as a part of a key: without the parts that all of them share, or that say nothing."""
    split = [[p for p in re.split(r"[/]+", n) if p] for n in among]
    parts = [p for p in re.split(r"[/]+", name) if p]
    if len(among) > 1:
        shared = set.intersection(*map(set, split))
        own = [p for p in parts if p not in shared]
    else:
        own = parts
    telling = [p for p in own if not _COMMON_PARTS.match(p)] or own or parts
    text = re.sub(r"[^A-Za-z0-9]+", "_", "_".join(telling)).strip("_")
    return text or "topic"


def _filled(name: str, rule: TopicRule, view: View) -> TopicRule:
    """The user's rule with its key, checked against what the topic holds."""
    path = f"options.topics.{name}"
    if rule.role == "ignore":
        return rule
    if view.sort in ("unreadable", "nothing"):
        raise RecipeError(f"{path}: {view.why}; leave it out or give it the role ignore")
    pictured = view.picture is not None
    if pictured != (rule.role == "camera") and rule.role != "task":
        what = "pictures" if pictured else "no pictures"
        raise RecipeError(f"{path}.role: its messages are {what}, so it cannot be {rule.role!r}")
    if pictured and view.picture is not None and view.picture.sort in ("depth", "unknown"):
        raise RecipeError(f"{path}: pictures of encoding {view.picture.encoding!r} are not read; give the role ignore")
    if "/" in rule.key or "\0" in rule.key or (rule.key and not rule.key.strip(".")):
        raise RecipeError(
            f"{path}.key: {rule.key!r} is no name of a folder, which every key has to be; use dots, no slash"
        )
    if rule.role in ("camera", "task"):
        default = f"observation.images.{slug(name, [name])}" if rule.role == "camera" else ""
        return TopicRule(role=rule.role, key=rule.key or default, field=rule.field)
    default = {"state": "observation.state", "action": "action"}.get(rule.role, f"observation.{slug(name, [name])}")
    return TopicRule(role=rule.role, key=rule.key or default, field=rule.field, names=rule.names)


def _distinct(decisions: Mapping[str, Decision]) -> None:
    keys: dict[str, str] = {}
    for name, decision in decisions.items():
        key = decision.rule.key
        if decision.rule.role != "ignore" and key:
            if key in keys:
                raise RecipeError(f"options.topics.{name}.key: {keys[key]} has the key {key!r} too; give another")
            keys[key] = name


def beside(key: str, part: str) -> str:
    """The key of a joint topic's further field: `observation.state.arm` -> `observation.effort.arm`."""
    if re.search(r"\bstate\b", key):
        return re.sub(r"\bstate\b", part, key, count=1)
    return f"{key}.{part}"


def main_field(view: View) -> str:
    """The field of a joint topic that stands for it: the position where there is one."""
    return next((f for f in JOINT_FIELDS if f in view.labels), JOINT_FIELDS[0])
