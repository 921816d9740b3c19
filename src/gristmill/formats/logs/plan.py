"""From topics to channels and cameras: what an episode of these logs will hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gristmill.errors import CorpusError, RecipeError
from gristmill.formats.logs.columns import MAX_WIDTH, NumberPlan, shown
from gristmill.formats.logs.looking import View, labels_of
from gristmill.formats.logs.number_types import WHOLE, channel_type
from gristmill.formats.logs.options import TopicRule
from gristmill.formats.logs.pictures import Picture
from gristmill.formats.logs.stream import one_line
from gristmill.formats.logs.topic_map import Decision, beside, main_field
from gristmill.formats.recorded import ChannelSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelPlan:
    """One channel of one topic."""

    topic: str
    spec: ChannelSpec
    numbers: NumberPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class CameraPlan:
    """One camera of one topic."""

    topic: str
    key: str
    picture: Picture


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What episodes hold. The first channel's topic is the one that counts frames: states before actions."""

    channels: tuple[ChannelPlan, ...]
    cameras: tuple[CameraPlan, ...]
    tasks: tuple[TaskPlan, ...]
    unread: Mapping[str, str]

    @property
    def topics(self) -> tuple[str, ...]:
        """Topics with channels, the one that counts frames first."""
        return tuple(dict.fromkeys(c.topic for c in self.channels))


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPlan:
    """A topic whose texts are instructions."""

    topic: str
    field: str


def plan_of(views: Mapping[str, Sequence[View]], decisions: Mapping[str, Decision], where: str) -> Plan:
    """The plan of a corpus.

    Args:
        views: topic -> how it looks in each log that has it.
        decisions: what becomes of each topic.
        where: how errors name the corpus.

    Raises:
        CorpusError: nothing becomes a channel or a camera.
        RecipeError: a rule asks for a field or a dimension that the topic does not hold.
    """
    channels: list[ChannelPlan] = []
    cameras: list[CameraPlan] = []
    tasks: list[TaskPlan] = []
    unread: dict[str, str] = {}
    for name, decision in decisions.items():
        rule, seen = decision.rule, views[name]
        picture = next((v.picture for v in seen if v.picture is not None), None)
        if rule.role == "ignore":
            if picture is not None and picture.sort == "depth":
                unread[name] = "depth"
            elif seen[0].sort == "unreadable" or picture is not None:
                unread[name] = decision.why
        elif rule.role == "camera" and picture is not None:
            cameras.append(CameraPlan(topic=name, key=rule.key, picture=picture))
        elif rule.role == "task":
            tasks.append(TaskPlan(topic=name, field=rule.field or "data"))
        else:
            channels += _channels(name, rule, seen)
    order = {"state": 0, "action": 1}
    channels.sort(key=lambda c: order.get(c.spec.role, 2))
    if not channels and not cameras:
        raise CorpusError(one_line(_nothing(views, decisions, where)))
    keys = [c.spec.key for c in channels] + [c.key for c in cameras]
    double = next((k for k in keys if keys.count(k) > 1), None)
    if double:
        raise RecipeError(f"options.topics: two topics would become {double!r}; give one of them another key")
    return Plan(channels=tuple(channels), cameras=tuple(cameras), tasks=tuple(tasks), unread=unread)


def _channels(name: str, rule: TopicRule, seen: Sequence[View]) -> list[ChannelPlan]:
    first = seen[0]
    joints = first.sort == "joints"
    main = rule.field or (main_field(first) if joints else "")
    made = [_channel(name, rule, seen, main, rule.key)]
    if joints and not rule.field and rule.role == "state":
        # What the joints felt and how fast they went is kept beside where they were.
        further = TopicRule(role="other", names=rule.names)
        rest = [f for f in first.labels if f != main]
        made += [_channel(name, further, seen, f, beside(rule.key, f)) for f in rest]
    return made


def _channel(name: str, rule: TopicRule, seen: Sequence[View], field: str, key: str) -> ChannelPlan:
    joints = seen[0].sort == "joints"
    path = f"options.topics.{name}"
    labels, of = labels_of(seen, field), field
    if not labels and field:
        of = ""
        everything = labels_of(seen, "")
        labels = tuple(label for label in everything if label == field or label.startswith((f"{field}.", f"{field}[")))
        if not labels:
            known = [f for v in seen for f in v.labels if f] or list(everything)
            raise RecipeError(
                f"{path}.field: no number of its messages is in {field!r}; known: {', '.join(known[:12])}"
            )
    names = shown(labels, field)
    if rule.names:
        lacking = [n for n in rule.names if n not in names and n not in labels]
        if len(lacking) == len(rule.names) == len(names) and (not joints or seen[0].nameless):
            # Numbers that the message leaves nameless are called what the user calls them.
            names, lacking = rule.names, []
        if lacking:
            raise RecipeError(f"{path}.names: no dimension is called {lacking[0]!r}; known: {', '.join(names[:12])}")
        chosen = [names.index(n) if n in names else labels.index(n) for n in rule.names]
        labels, names = tuple(labels[i] for i in chosen), rule.names
    if len(labels) > MAX_WIDTH:
        raise RecipeError(f"{path}: its messages hold more than {MAX_WIDTH} numbers; choose a part of it with field")
    telling = [v.types[of] for v in seen if of in v.types]
    dtype, whole = channel_type([[types.get(label, WHOLE) for types in telling] for label in labels])
    role = "other" if rule.role not in ("state", "action") else rule.role
    spec = ChannelSpec(key=key, role=role, width=len(labels), names=names, dtype=dtype)
    numbers = NumberPlan(field=field, labels=labels, dtype=dtype, whole=whole, closed=bool(rule.names))
    return ChannelPlan(topic=name, spec=spec, numbers=numbers)


def _nothing(views: Mapping[str, Sequence[View]], decisions: Mapping[str, Decision], where: str) -> str:
    spoken = {name: seen[0] for name, seen in views.items() if seen[0].count}
    if not spoken:
        return f"{where} holds no messages; give a log in which something was recorded"
    unreadable = [name for name, view in spoken.items() if view.sort == "unreadable"]
    if len(unreadable) == len(spoken):
        name = unreadable[0]
        return f"{where}: no topic can be decoded; {name}: {spoken[name].why}"
    listed = ", ".join(f"{name} ({view.type or view.encoding})" for name, view in list(spoken.items())[:8])
    more = f" and {len(spoken) - 8} more" if len(spoken) > 8 else ""
    return (
        f"{where} holds no numbers and no pictures to check; its topics are {listed}{more}; map one in options.topics "
        "if it is of use"
    )
