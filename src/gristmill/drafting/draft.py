"""The draft of a card as TOML text, with its evidence as comments, for a person to correct."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gristmill.drafting import guesses
from gristmill.drafting.evidence import Evidence, collect
from gristmill.embodiment import Embodiment, Gripper, Joint, is_placeholder, plain_name, to_toml
from gristmill.episode import CorpusFacts, Episode
from gristmill.errors import CorpusError
from gristmill.visible import visible

_WIDTH = 118


def draft(facts: CorpusFacts, episodes: Sequence[Episode]) -> str:
    """A card as TOML text that `load_card` takes, drawn from these episodes of one corpus.

    Where a shipped card fits, the draft begins with it. Otherwise only what the numbers support is claimed; all else
    is left to the reader, with what was seen as comments.

    Raises:
        CorpusError: no episode has a state or action that can be read.
    """
    evidence = collect(facts.dims, episodes)
    if not evidence.episodes or not facts.dims:
        why = f": {evidence.skipped[0]}" if evidence.skipped else ""
        raise CorpusError(f"{facts.root}: no episode has a state or action from which a card can be drawn{why}")
    known = episodes[0].embodiment
    card = _guessed(facts, evidence) if known.inferred else known
    notes = {row: _seen(evidence, row) for row in range(len(facts.dims))}
    return "".join(f"{line}\n" for line in _lines(card, facts, evidence, notes))


def _guessed(facts: CorpusFacts, evidence: Evidence) -> Embodiment:
    rows = _rows(evidence)
    joints, grippers = [], []
    for name, row in rows.items():
        unit, _ = guesses.unit_of(evidence, row)
        joint = Joint(name=name, kind=guesses.kind_of(evidence, row), unit=unit)
        joints.append(joint)
        ends = guesses.closed_and_open(evidence, row) if joint.kind == "gripper" else None
        if ends is not None:
            grippers.append(Gripper(joint=name, closed=round(ends[0], 4), open=round(ends[1], 4)))
    mode, _ = guesses.control_mode(evidence)
    order = guesses.quaternion_order(evidence).value if guesses.quaternion_rows(evidence) else "unknown"
    return Embodiment(
        key=plain_name(facts.robot_type) or "draft",
        title=f"Draft for {visible(facts.robot_type) or 'an unnamed robot'}, from {visible(facts.key)}",
        robot_types=(facts.robot_type,) if facts.robot_type else (),
        joints=tuple(joints),
        grippers=tuple(grippers),
        control_mode=mode,
        action_frame="joint" if mode in ("joint_position", "joint_delta") else "unknown",
        quaternion_order=order,  # type: ignore[arg-type]
        rate_hz=facts.rate_hz if facts.rate_hz > 0 else None,
        sources={"all": f"guessed by gristmill embody from {evidence.episodes} episodes; not confirmed"},
    )


def _rows(evidence: Evidence) -> dict[str, int]:
    """Name of each joint -> the row that shows it: the state's where there is one. Of equal names the first counts."""
    dims = evidence.layout.dims
    named: dict[str, int] = {}
    taken: set[str] = set()
    nameless = all(is_placeholder(d.name) for d in dims)
    for row, dim in enumerate(dims):
        if nameless and row >= max(evidence.layout.states, 1) and evidence.layout.states:
            break  # joints without names match in order
        name = dim.name if plain_name(dim.name) else f"joint_{dim.index}"
        if plain_name(name) not in taken:
            taken.add(plain_name(name))
            named[name] = row
    return named


def _seen(evidence: Evidence, row: int) -> str:
    """Range and speed of a dimension."""
    low, high = float(evidence.low[row]), float(evidence.high[row])
    return (
        f"{evidence.layout.labels[row]}: {low:.4g} to {high:.4g}, up to {float(evidence.fastest[row]):.3g} a second"
        + (", whole numbers only" if evidence.whole[row] and high > low else "")
    )


def _lines(card: Embodiment, facts: CorpusFacts, evidence: Evidence, notes: Mapping[int, str]) -> Iterator[str]:
    """The card's own lines, each table and claim preceded by what speaks for it."""
    matches = card.match([d.name for d in facts.dims]) if not _in_order(card, facts) else None
    joints = iter(card.joints)
    grippers = iter(card.grippers)
    yield from _comments(
        f"Draft of an embodiment card, from {evidence.episodes} episodes of {facts.key} "
        f"(robot type {facts.robot_type or 'not named'}).",
        "Correct it, remove what you do not know, and say in [sources] where each claim comes from. Ranges below are "
        "what was seen, not limits; a claim that is wrong accuses good episodes.",
        *(f"Skipped: {why}" for why in evidence.skipped[:3]),
        *(
            [f"The shipped card {card.key} fits and is the beginning of this draft."]
            if card.key and not _own(card)
            else []
        ),
        f"Rate: {guesses.rate(evidence, facts.rate_hz)}. Claim control_rate_hz only if it never differs.",
        *(
            [f"The state follows its commands after {said}: response_s."]
            if (said := guesses.response(evidence))
            else []
        ),
        f"Actions: {guesses.control_mode(evidence)[1]}.",
        *([f"Quaternions: {guesses.quaternion_order(evidence).why}."] if guesses.quaternion_rows(evidence) else []),
        "Arms ([[arms]]: joints from base to tip, gripper, position and rotation of the end effector) are for you to "
        "state; see docs/embodiments.md.",
    )
    for line in to_toml(card).splitlines():
        if line == "[[joints]]":
            joint = next(joints)
            rows = [i for i, j in enumerate(matches) if j is joint] if matches else _by_order(card, facts, joint)
            yield from _comments(*(notes[row] for row in rows) if rows else ("not in this corpus",))
            if rows and _own(card):
                unit, why = guesses.unit_of(evidence, rows[0])
                yield from _comments(f"unit {unit}: {why}")
                if joint.kind == "gripper":
                    yield from _comments(guesses.polarity(evidence, rows[0]))
                    if card.gripper(joint.name) is None:
                        low, high = float(evidence.low[rows[0]]), float(evidence.high[rows[0]])
                        yield from _comments(
                            f"if {low:.4g} is closed: a table [[grippers]] with joint, closed = {low:.4g} and "
                            f"open = {high:.4g}; if it is open, the other way round"
                        )
        if line == "[[grippers]]":
            gripper = next(grippers)
            yield from (
                _comments(f"closed and open of {gripper.joint} are the ends of what was seen") if _own(card) else ()
            )
        yield line


def _own(card: Embodiment) -> bool:
    """Whether the card is a guess of this module."""
    return "all" in card.sources and "gristmill embody" in card.sources["all"]


def _in_order(card: Embodiment, facts: CorpusFacts) -> bool:
    """Whether dimensions have no names, so that joints match by their order in each channel."""
    return all(is_placeholder(d.name) for d in facts.dims) and not any(card.match([d.name for d in facts.dims]))


def _by_order(card: Embodiment, facts: CorpusFacts, joint: Joint) -> list[int]:
    index = card.joints.index(joint)
    return [row for row, dim in enumerate(facts.dims) if dim.index == index]


def _comments(*texts: str) -> Iterator[str]:
    """Comment lines, with nothing hidden in them and not too long."""
    for text in texts:
        line = "#"
        for word in visible(text).split(" "):
            if len(line) + 1 + len(word) > _WIDTH and line != "#":
                yield line
                line = "#  "
            line += f" {word}"
        yield line
