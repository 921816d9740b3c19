"""A project: some corpora, a recipe and a store. What the command line does, this does in a notebook."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pyarrow as pa

from gristmill import measuring, plugins, recipe, settings
from gristmill.audit import Audit
from gristmill.embodiment import load_card
from gristmill.episode import Corpus
from gristmill.errors import CorpusError, UsageError
from gristmill.outputs import keep_outside
from gristmill.pipeline import asking, curating
from gristmill.pipeline.featurized import Resampled
from gristmill.pipeline.judging import judge
from gristmill.pipeline.places import store_path
from gristmill.progress import Progress
from gristmill.recipe import Cameras, CorpusEntry, Recipe
from gristmill.resample import Resample
from gristmill.sources import open_path
from gristmill.store import Store
from gristmill.store.snapshots import check_tag
from gristmill.types import IntArray


class Project:
    """Corpora, recipe and store together. Make one with `gristmill.open`."""

    def __init__(self, rules: Recipe, store: Path, resampled: Mapping[str, Resample] | None = None) -> None:
        self.recipe = rules
        self.store = store
        self._resampled = resampled or {}  # path -> how the corpus was resampled before, where the recipe does not say
        self.counters = measuring.Counters()  # what the last audit or curation had to read and measure
        self._corpora: dict[str, Corpus] = {}

    @classmethod
    def open(
        cls,
        *corpora: str | Path,
        store: str | Path | None = None,
        card: str | Path | None = None,
        recipe: str | Path | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Project:
        """Name the corpora; nothing is read yet.

        Args:
            corpora: folders or hub repositories; one `.toml` file is a recipe.
            store: where measurements are kept; see `gristmill.pipeline.places.store_path`.
            card: an embodiment card's file or name, for all of them.
            recipe: a recipe's file; its own corpora are used only when none is given here.
            options: what a format leaves unsaid, such as `{"rate_hz": 10, "task": "push the T"}`, for all of them.

        Raises:
            RecipeError: the recipe has a mistake.
            UsageError: there is no corpus, or no such card.
        """
        for place in corpora:
            if not isinstance(place, (str, Path)):
                raise UsageError(f"{place!r} is no path; name corpora one by one, as in gristmill.open('a', 'b')")
        rules, entries = _rules(corpora, recipe)
        if card is not None:
            entries = tuple(replace(e, card=str(card)) for e in entries)
        if options:
            entries = tuple(replace(e, options={**e.options, **options}) for e in entries)
        if not entries:
            raise UsageError("no corpus is named; give a folder, a hub repository, or a recipe with `corpora`")
        folders = [Path(e.path) for e in entries if Path(e.path).exists()]
        place = store_path(Path(store) if store else None, folders)
        keep_outside(place, folders, "store ")
        return cls(replace(rules, corpora=entries), place)

    @property
    def folders(self) -> list[Path]:
        """Folders of the corpora; nothing is ever written into them."""
        return [Path(e.path) for e in self.recipe.corpora if Path(e.path).exists()]

    @classmethod
    def known(cls, *corpora: str | Path, store: str | Path | None = None, recipe: str | Path | None = None) -> Project:
        """The corpora that a store knows, or some of them, for questions about what was measured.

        Args:
            corpora: folders, hub repositories, or keys of the store; all that the store knows by default.
            store: where measurements are kept.
            recipe: a recipe's file.

        Raises:
            StoreError: there is no store.
            UsageError: the store knows no such corpus.
        """
        place = store_path(Path(store) if store else None, [Path(c) for c in corpora if Path(c).exists()])
        with Store.open(place, create=False, write=False) as opened:
            entries = opened.corpora.entries()
        named = [str(c) for c in corpora]
        if len(named) == 1 and named[0].endswith(".toml") and recipe is None:
            recipe, named = named[0], []
        rules, own = _rules((), recipe)
        if named:
            roots = {entries[c]["root"] if c in entries else c for c in named}
        else:
            roots = {e["root"] for e in entries.values() if _there(e["root"])}
        terms = {e["root"]: {k: e[k] for k in ("card", "options") if k in e} for e in entries.values()}
        terms |= {e.path: {"card": e.card, "options": e.options} for e in own}
        chosen = tuple(CorpusEntry(path=root, **terms.get(root, {})) for root in sorted(roots))
        # Without a recipe, questions are about the timeline that was audited last.
        before = {e["root"]: e["resample"] for e in entries.values() if "resample" in e and recipe is None}
        resampled = {root: settings.build(Resample, rule, "resample") for root, rule in before.items()}
        if not chosen:
            raise UsageError(f"{place}: the store knows no corpus that is still there; run `gristmill audit CORPUS`")
        return cls(replace(rules, corpora=chosen), place, resampled)

    # -- auditing ------------------------------------------------------------------------------------

    def audit(
        self,
        *,
        cameras: Cameras | None = None,
        episodes: str | None = None,
        jobs: int | None = None,
        progress: Progress | None = None,
    ) -> Audit:
        """Measure what is owed and judge everything.

        Args:
            cameras: "all", "sample" or "none"; the recipe's by default.
            episodes: a part of the corpus, "0:50" or "3,7,10:20".
            jobs: processes; one a core by default.
            progress: called with a stage's name, what is done and what there is in all.

        Returns:
            The audit of the only corpus; use `audits` when there are several.

        Raises:
            CorpusError: the corpus cannot be opened.
            UsageError: there are several corpora, or the selection is out of range.
        """
        if len(self.recipe.corpora) != 1:
            raise UsageError(f"there are {len(self.recipe.corpora)} corpora; use audits()")
        return self.audits(cameras=cameras, episodes=episodes, jobs=jobs, progress=progress)[0]

    def audits(
        self,
        *,
        cameras: Cameras | None = None,
        episodes: str | None = None,
        jobs: int | None = None,
        progress: Progress | None = None,
    ) -> list[Audit]:
        """One audit a corpus, in the recipe's order; arguments as for `audit`."""
        with self._writing() as store:
            return [a for a, _ in self._audited(store, cameras, episodes, jobs, progress)]

    def report(self, audit: Audit, path: str | Path, *, curation: Any = None, progress: Progress | None = None) -> None:
        """Write an audit as one self-contained HTML page.

        Args:
            audit: of one of this project's corpora.
            path: the page.
            curation: what a curation did, if it should be told.
            progress: called with a stage's name, what is done and what there is in all.
        """
        from gristmill.report import write_report

        keep_outside(Path(path), self.folders)
        if progress is not None:
            progress("report", 0, 1)
        settings = {n: {k: v[0] for k, v in recipe.thresholds(c).items()} for n, c in self.recipe.checks.items()}
        corpus = self._corpora.get(audit.facts.key)
        with self._reading() as store:
            traces = None if corpus is None else partial(measuring.stored_traces, store, corpus)
            write_report(audit, Path(path), corpus=corpus, curation=curation, settings=settings, traces=traces)

    # -- curating ------------------------------------------------------------------------------------

    def curate(
        self,
        out: str | Path | None = None,
        *,
        dry_run: bool = False,
        format: str = "lerobot",
        overwrite: bool = False,
        cameras: Cameras | None = None,
        episodes: str | None = None,
        jobs: int | None = None,
        tag: str | None = None,
        progress: Progress | None = None,
    ) -> curating.Curation:
        """Audit, decide, freeze a snapshot and export it.

        Args:
            out: where the dataset goes. Without it the snapshot is frozen and nothing is exported.
            dry_run: say what would happen, episode by episode; write no snapshot and no dataset.
            format: an exporter's name: "lerobot" or "index".
            overwrite: replace an earlier export at `out`.
            cameras: as for `audit`.
            episodes: as for `audit`.
            jobs: as for `audit`.
            tag: a name for the snapshot.
            progress: called with a stage's name, what is done and what there is in all.

        Raises:
            UsageError: nothing is left to train on, or `out` is taken.
            SnapshotError: a recording changed while it was curated.
        """
        exporter = plugins.load("export", format)(overwrite=overwrite)
        if tag is not None:
            check_tag(tag)
        place = None if out is None or dry_run else Path(out)
        with self._writing() as store:
            if place is not None:
                # A place that is taken is told before anything is measured.
                keep_outside(place, [self.store])
                exporter.check(place, [self._opened(store, entry).facts.root for entry in self.recipe.corpora])
            audited = self._audited(store, cameras, episodes, jobs, progress)
            return curating.curate(
                store, self.recipe, audited, exporter, place, dry_run=dry_run, tag=tag, progress=progress
            )

    # -- asking --------------------------------------------------------------------------------------

    def query(self, sql: str) -> pa.Table:
        """Run one SELECT over episodes, findings, events and one view a check.

        Raises:
            UsageError: the statement is wrong, or does more than read.
        """
        with self._reading() as store:
            return asking.query(store, self.recipe, self._known(store), sql)

    def status(self) -> list[asking.Owed]:
        """What is measured and what is owed, one entry a corpus."""
        with self._reading() as store:
            return [asking.owed(store, corpus, self.recipe) for corpus in self._known(store)]

    def why(self, episode: str | int) -> asking.Story:
        """Everything known of one episode.

        Args:
            episode: its id (`corpus/000012`), or its number when there is one corpus.
        """
        with self._reading() as store:
            return asking.story(store, self._known(store), self.recipe, str(episode))

    def accept(self, episode: str | int, check: str, reason: str) -> str:
        """Waive what a check finds in an episode; returns the episode's id.

        Raises:
            UnknownNameError: no such episode or check.
            UsageError: no reason.
        """
        with self._writing() as store:
            return asking.accept(store, self._known(store), str(episode), check, reason)

    def revoke(self, episode: str | int, check: str) -> str:
        """Take a waiver back; returns the episode's id.

        Raises:
            UsageError: there was none.
        """
        with self._writing() as store:
            return asking.revoke(store, self._known(store), str(episode), check)

    # -- inner ---------------------------------------------------------------------------------------

    def _audited(
        self, store: Store, cameras: Cameras | None, episodes: str | None, jobs: int | None, progress: Progress | None
    ) -> list[tuple[Audit, Corpus]]:
        mode = cameras or self.recipe.cameras
        if mode not in get_args(Cameras):
            raise UsageError(f"cameras: {mode!r} is none of {', '.join(get_args(Cameras))}")
        if jobs is not None and jobs < 1:
            raise UsageError(f"jobs: {jobs} is no number of processes; give 1 or more, or none for one a core")
        measured = []
        self.counters = measuring.Counters()
        for entry in self.recipe.corpora:
            corpus = self._opened(store, entry)
            rows = _rows(corpus, entry.episodes, episodes)
            reopen = None
            if isinstance(corpus, Resampled):
                corpus = self._corpora[corpus.facts.key] = corpus.prepared(rows, jobs=jobs, progress=progress)
                reopen = corpus.reopening()
            store.corpora.note_featurized(corpus.facts.key, corpus.name if isinstance(corpus, Resampled) else "")
            done = measuring.run_measures(
                store,
                corpus,
                self.recipe.checks,
                cameras=mode,
                jobs=jobs,
                rows=rows,
                progress=progress,
                reopen=reopen,
            )
            self.counters.add(done)
            measured.append((corpus, rows))
        # Judged when all are measured: some checks look for copies among all of them.
        return [(judge(store, corpus, self.recipe, rows, mode), corpus) for corpus, rows in measured]

    def _known(self, store: Store) -> list[Corpus]:
        """The corpora that can be opened; one of several that cannot does not stand in the others' way."""
        opened, trouble = [], None
        for entry in self.recipe.corpora:
            try:
                opened.append(self._opened(store, entry))
            except CorpusError as error:
                trouble = error
        if not opened and trouble is not None:
            raise trouble
        return opened

    def _opened(self, store: Store, entry: CorpusEntry) -> Corpus:
        root = Path(entry.path) if Path(entry.path).exists() else entry.path
        if not store.writable and store.corpora.find(root) is None:
            raise UsageError(f"{entry.path}: this store knows nothing of it; run `gristmill audit {entry.path}` first")
        key = store.corpora.key_for(root)
        rule = self.recipe.resample or self._resampled.get(entry.path)
        if key not in self._corpora:
            card = load_card(entry.card) if entry.card else None
            corpus = open_path(root, key=key, card=card, options=entry.options)
            if rule is not None:
                corpus = Resampled.within(store.path, corpus, rule, writable=store.writable)
            self._corpora[key] = corpus
        if store.writable:
            store.corpus_key(root)  # only what could be opened is remembered
            resample = {} if rule is None else asdict(rule)
            store.corpora.note_terms(key, card=entry.card, options=entry.options, resample=resample)
        return self._corpora[key]

    @contextmanager
    def _writing(self) -> Iterator[Store]:
        with Store.open(self.store) as store:
            yield store

    @contextmanager
    def _reading(self) -> Iterator[Store]:
        with Store.open(self.store, create=False, write=False) as store:
            yield store


def _rules(corpora: Sequence[str | Path], file: str | Path | None) -> tuple[Recipe, tuple[CorpusEntry, ...]]:
    """The recipe and the corpora it is for."""
    if len(corpora) == 1 and str(corpora[0]).endswith(".toml") and file is None:
        rules = recipe.load(Path(corpora[0]))
        return rules, rules.corpora
    rules = recipe.load(Path(file)) if file is not None else recipe.default()
    named = tuple(
        CorpusEntry(path=str(Path(c).expanduser()) if Path(c).expanduser().exists() else str(c)) for c in corpora
    )
    return rules, named or rules.corpora


def _rows(corpus: Corpus, own: str | None, asked: str | None) -> IntArray:
    """Rows that a call asks for, else those that the recipe's entry names, else all."""
    total = len(corpus.table)
    for name, selection in (("--episodes", asked), (f"{corpus.facts.key}: episodes", own)):
        if selection is None:
            continue
        if not isinstance(selection, str):
            raise UsageError(f"{name}: {selection!r} is no selection; give text such as '0:50' or '3,7,10:20'")
        return np.array(recipe.selection(selection, total, name), dtype=np.int64)
    return np.arange(total)


def _there(root: str) -> bool:
    """A folder that exists, or a hub repository."""
    return not Path(root).is_absolute() or Path(root).exists()
