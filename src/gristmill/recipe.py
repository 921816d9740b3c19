"""A recipe: one TOML file that names corpora, cards, checks, selection and export. Typos are errors.

Without a recipe every default applies. The canonical form enters a snapshot's lineage hash.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

from gristmill import plugins, settings
from gristmill.errors import RecipeError, UsageError
from gristmill.resample import Resample
from gristmill.select.align import Align
from gristmill.select.dropped_frames import DroppedFrames
from gristmill.select.gate import Gate
from gristmill.select.trim import Trim

Cameras = Literal["all", "sample", "none"]


@dataclass(frozen=True, kw_only=True)
class CorpusEntry:
    """One corpus of a recipe."""

    path: str  # a folder, or a hub repository
    card: str | None = None  # a card's file or name
    episodes: str | None = None  # "0:50" or "3,7,10:20"
    options: Mapping[str, Any] = field(default_factory=dict)  # what the user states of its format, such as its rate


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Everything that decides what a training set holds."""

    corpora: tuple[CorpusEntry, ...] = ()
    cameras: Cameras = "all"
    checks: Mapping[str, Any] = field(default_factory=dict)  # name -> check, the ones that run
    gate: Gate = field(default_factory=Gate)
    trim: Trim = field(default_factory=Trim)
    dropped_frames: DroppedFrames = field(default_factory=DroppedFrames)
    align: Align = field(default_factory=Align)
    resample: Resample | None = None  # None: streams stay on the clocks that they were recorded with

    def canonical(self) -> dict[str, Any]:
        """Plain values in a fixed order: what the lineage hash covers and a snapshot keeps.

        The corpora's places are left out: a training set is the same wherever its recordings lie.
        """
        resample = {} if self.resample is None else {"resample": self.resample.canonical()}
        return {
            "cameras": self.cameras,
            "checks": {name: asdict(check) for name, check in sorted(self.checks.items())},
            "gate": asdict(self.gate),
            "trim": asdict(self.trim),
            "dropped_frames": asdict(self.dropped_frames),
            "align": asdict(self.align),
            **resample,
        }


def default(corpora: tuple[CorpusEntry, ...] = ()) -> Recipe:
    """What runs when no recipe is given: every check with its defaults."""
    return replace(parse({}, base=Path()), corpora=corpora)


def load(path: Path) -> Recipe:
    """Read a recipe; relative corpus and card paths are relative to the recipe's folder.

    Raises:
        RecipeError: with the key's full path.
    """
    return parse(settings.read_toml(path), base=path.parent)


def parse(table: Mapping[str, Any], base: Path) -> Recipe:
    """A recipe from TOML's tables."""
    known = {f.name: f for f in fields(Recipe)}
    for key in table:
        if key not in known:
            raise RecipeError(f"{key}: unknown key; {settings.suggest(key, known)}")
    values: dict[str, Any] = {"checks": _checks(table.get("checks", {}))}
    if "corpora" in table:
        values["corpora"] = _corpora(table["corpora"], base)
    if "cameras" in table:
        values["cameras"] = settings.convert(Cameras, table["cameras"], "cameras")
    for key, cls in (("gate", Gate), ("trim", Trim), ("dropped_frames", DroppedFrames), ("align", Align)):
        if key in table:
            values[key] = settings.build(cls, table[key], key)
    if "resample" in table:
        values["resample"] = settings.build(Resample, table["resample"], "resample")
    recipe = Recipe(**values)
    _known_checks(recipe.gate)
    return recipe


def _corpora(value: object, base: Path) -> tuple[CorpusEntry, ...]:
    if not isinstance(value, list):
        raise RecipeError("corpora: expected a list of paths or tables")
    entries = []
    for i, item in enumerate(value):
        entry = settings.build(CorpusEntry, {"path": item} if isinstance(item, str) else item, f"corpora[{i}]")
        local = base / Path(entry.path).expanduser()
        card = entry.card
        if card is not None and card.endswith(".toml"):
            card = str(base / Path(card).expanduser())
        # A path that exists beside the recipe is a folder; anything else is tried as it stands (hub ids).
        path = str(local) if local.exists() or Path(entry.path).is_absolute() else entry.path
        entries.append(replace(entry, path=path, card=card))
    return tuple(entries)


def _checks(table: object) -> dict[str, Any]:
    if not isinstance(table, Mapping):
        raise RecipeError(f"checks: expected a table, got {table!r}")
    names = plugins.names("checks")
    for name in table:
        if name not in names:
            raise RecipeError(f"checks.{name}: unknown check; {settings.suggest(name, dict.fromkeys(names))}")
    made: dict[str, Any] = {}
    for name in names:
        own = table.get(name, {})
        if not isinstance(own, Mapping):
            raise RecipeError(f"checks.{name}: expected a table, got {own!r}")
        own = dict(own)
        enabled = settings.convert(bool, own.pop("enabled", True), f"checks.{name}.enabled")
        check = settings.build(plugins.load("checks", name), own, f"checks.{name}")
        if enabled:
            made[name] = check
    return made


def _known_checks(gate: Gate) -> None:
    names = plugins.names("checks")
    for name in gate.rules:
        if name.split(".")[0] not in names:
            raise RecipeError(f"gate.rules.{name}: unknown check; {settings.suggest(name, dict.fromkeys(names))}")


def selection(text: str, total: int, name: str = "--episodes") -> list[int]:
    """Rows named by `0:50`, `:10`, `-5:`, or `3,7,10:20`, within 0..total-1; `name` is what errors call the text.

    Raises:
        UsageError: the text is no selection, or names an episode that does not exist.
    """
    rows: list[int] = []
    for part in text.split(","):
        first, colon, last = part.strip().partition(":")
        try:
            start = int(first) if first or not colon else 0
            stop = (int(last) if last else total) if colon else start + 1
        except ValueError:
            raise UsageError(f"{name} {text}: {part!r} is neither a number nor a range such as 0:50") from None
        start, stop = (v + total if v < 0 else v for v in (start, stop))
        if 0 <= stop <= start <= total:
            raise UsageError(f"{name} {text}: {part.strip()} names no episode; a range ends after it begins")
        if not 0 <= start < stop <= total:
            raise UsageError(f"{name} {text}: out of range, the corpus has {total} episodes (0 to {total - 1})")
        rows.extend(range(start, stop))
    return sorted(set(rows))


def thresholds(check: Any) -> dict[str, tuple[Any, Any, bool]]:
    """A check's parameters: name -> (value, default, whether it changes what is measured)."""
    return {
        f.name: (getattr(check, f.name), None if f.default is MISSING else f.default, bool(f.metadata.get("measuring")))
        for f in fields(check)
    }
