"""Task texts that say nothing."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from gristmill.check import Column, Measured, Reads
from gristmill.episode import Episode
from gristmill.finding import Finding, Kind
from gristmill.manifest import Manifest, finding

# What people type when a recorder asks for a task, and what recorders and their examples fill in.
# fmt: off
PLACEHOLDERS = frozenset({
    "abc", "asdf", "asdfasdf", "bar", "blah", "debug", "default", "demo", "demonstration", "description", "dummy",
    "empty", "episode", "example", "fill in", "fixme", "foo", "foobar", "hello", "hello world", "hi",
    "insert task here", "instruction", "invalid", "lerobot", "lorem ipsum", "my dataset", "my task",
    "my task description", "na", "name", "nan", "new task", "nil", "no description", "no instruction", "no task",
    "none", "not specified", "nothing", "null", "placeholder", "prompt", "qwerty", "record", "recording", "robot",
    "sample", "single task", "string", "task", "task description", "task name", "tba", "tbd", "temp", "test",
    "test recording", "test run", "test task", "testing", "text", "the task", "tmp", "todo", "trial", "undefined",
    "unknown", "unknown task", "unlabeled", "unlabelled", "unnamed", "unspecified", "untitled", "valid", "x", "xx",
    "xxx", "xyz", "your task", "your task description", "your task here",
})
# fmt: on

_NAMED = 3  # texts quoted in a finding about the corpus


@dataclass(frozen=True, kw_only=True)
class TaskText:
    """Task texts that are empty, placeholders, or no language.

    A policy conditioned on language learns from an empty text to ignore language, and from one that
    somebody typed to get past a form a task that nobody will ask for. Texts are compared with a list of
    such words without case, digits and punctuation, so "Test 2" is one. A placeholder beside a real
    sentence does no such harm and is told once of the corpus, as are spellings of one task that differ
    only in case, spaces or punctuation: they split one task into several. Control characters, texts
    without a single letter and texts longer than encoders read are risks.
    """

    version: ClassVar[int] = 1
    reads: ClassVar[Reads] = Reads(task=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("texts", "int", about="task texts of the episode that are not empty"),
    )
    fix: ClassVar[str] = (
        "Write one sentence that tells what the robot does, and store it as the episode's task; where the format has "
        "no place for it, state it, as with --option task='...'."
    )
    source: ClassVar[str] = "Texts found in public LeRobot datasets; defaults and examples of LeRobot's recorder."

    max_characters: int = 500  # the text encoders in use read about 50 to 200 tokens
    find_variants: bool = True

    def measure(self, episode: Episode) -> Measured:
        """How many texts there are; the texts themselves are at hand when judging."""
        return Measured({"texts": sum(1 for text in episode.tasks if text.strip())})

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Each distinct list of task texts is looked at once, whatever the number of its episodes."""
        rows_of: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
        for row, tasks in enumerate(manifest.tasks):
            rows_of[tasks].append(row)
        beside: defaultdict[str, int] = defaultdict(int)
        for tasks, rows in rows_of.items():
            told = self._episode(tasks)
            for code, kind, message, more in told:
                for row in rows:
                    yield finding(self, kind, row, f"{manifest.where(row)} {message}", code=code, **more)
            if not told:
                for text in tasks:
                    if not text.strip() or is_placeholder(text):
                        beside[text.strip()] += len(rows)
        for text, count in sorted(beside.items()):
            yield finding(
                self,
                Kind.TRAIT,
                None,
                f"{quoted(text) if text else 'An empty text'} is stored as a task of {count} "
                f"{'episode' if count == 1 else 'episodes'}, beside one that says what is done; a loader that picks a "
                "task at random will train on it.",
                fix="Leave the episodes alone, and remove the text from their lists of tasks.",
                code="placeholder_beside_task",
                measured=count,
                unit="episodes",
            )
        if self.find_variants:
            yield from self._variants(rows_of)

    def _episode(self, tasks: Sequence[str]) -> list[tuple[str, Kind, str, dict[str, Any]]]:
        """(code, kind, what is wrong, further fields) of one list of task texts."""
        texts = [text for text in tasks if text.strip()]
        if not texts:
            said = "has an empty task text" if tasks else "has no task text"
            return [("empty_task", Kind.DEFECT, f"{said}; a policy learns from it to ignore language.", {})]
        if all(map(is_placeholder, texts)):
            said = f"has the placeholder {quoted(texts[0])} as its task; nobody will ask a robot for that."
            return [("placeholder_task", Kind.RISK, said, {})]
        found: list[tuple[str, Kind, str, dict[str, Any]]] = []
        for text in texts:
            if any(unicodedata.category(c) in ("Cc", "Cs") for c in text.strip()):
                said = f"has control characters in its task {quoted(text)}; encoders read them as noise."
                found.append(("control_characters", Kind.RISK, said, {}))
            if not any(c.isalpha() for c in text):
                said = f"has the task {quoted(text)}, in which there is no word."
                found.append(("no_words", Kind.RISK, said, {}))
            if len(text) > self.max_characters:
                said = (
                    f"has a task of {len(text):,} characters, more than {self.max_characters}; "
                    "text encoders cut it off."
                )
                limits = {"measured": len(text), "threshold": self.max_characters, "unit": "characters"}
                found.append(("long_task", Kind.RISK, said, limits))
        return found

    def _variants(self, rows_of: dict[tuple[str, ...], list[int]]) -> Iterator[Finding]:
        """Spellings of one task, over the whole corpus."""
        spellings: defaultdict[str, dict[str, None]] = defaultdict(dict)
        for tasks in rows_of:
            for text in tasks:
                if text.strip() and not is_placeholder(text):
                    spellings[_letters(text, digits=True)][text] = None
        several = [list(texts) for texts in spellings.values() if len(texts) > 1]
        if several:
            named = "; ".join(" and ".join(quoted(t) for t in texts[:_NAMED]) for texts in several[:_NAMED])
            yield finding(
                self,
                Kind.TRAIT,
                None,
                f"{len(several)} tasks are spelt in several ways that differ only in case, spaces or punctuation "
                f"({named}{'; ...' if len(several) > _NAMED else ''}); they count as different tasks.",
                fix="Give one task one spelling.",
                code="task_variants",
                measured=len(several),
                unit="tasks",
            )


def is_placeholder(text: str) -> bool:
    """Whether a text is one of `PLACEHOLDERS`, whatever its case, digits and punctuation: "Test 2", "n/a"."""
    return _letters(text, digits=False) in PLACEHOLDERS


def quoted(text: str) -> str:
    """A text as a message quotes it: escaped and cut short."""
    return repr(text if len(text) <= 60 else text[:57] + "...")


def _letters(text: str, *, digits: bool) -> str:
    """Words without case and punctuation, joined by single spaces; "n/a" becomes "na"."""
    kept = (c if c.isalpha() or (digits and c.isdigit()) else " " if c.isspace() or c in "_-" else "" for c in text)
    return " ".join("".join(kept).casefold().split())
