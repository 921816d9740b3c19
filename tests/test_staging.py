"""A folder appears whole or not at all, also when its maker is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gristmill import staging
from gristmill.errors import UsageError
from gristmill.staging import Staged, clean_leftovers


def _make(out: Path, text: str, replaces=None) -> None:
    with Staged(out, replaces=replaces) as staged:
        (staged.payload / "a.txt").write_text(text)
        staged.commit()


def test_appears_whole(tmp_path) -> None:
    out = tmp_path / "deep" / "out"
    _make(out, "one")
    assert (out / "a.txt").read_text() == "one"
    assert list(out.parent.iterdir()) == [out]


def test_an_empty_folder_is_free(tmp_path) -> None:
    (tmp_path / "out").mkdir()
    _make(tmp_path / "out", "one")
    assert (tmp_path / "out" / "a.txt").read_text() == "one"


def test_an_error_leaves_nothing(tmp_path) -> None:
    with pytest.raises(ZeroDivisionError), Staged(tmp_path / "out") as staged:
        (staged.payload / "a.txt").write_text("half")
        raise ZeroDivisionError
    assert not list(tmp_path.iterdir())


def test_replaces_only_when_allowed(tmp_path) -> None:
    out = tmp_path / "out"
    _make(out, "one")
    with pytest.raises(UsageError, match="not empty"):
        Staged(out)
    with pytest.raises(UsageError, match="did not write"):
        Staged(out, replaces=lambda folder: (folder / "mark").exists())
    _make(out, "two", replaces=lambda folder: (folder / "a.txt").exists())
    assert (out / "a.txt").read_text() == "two"
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize("make", [lambda p: p.write_text("x"), lambda p: p.symlink_to(p.parent / "gone")])
def test_refuses_what_is_no_folder(tmp_path, make) -> None:
    make(tmp_path / "out")
    with pytest.raises(UsageError, match="no folder"):
        Staged(tmp_path / "out")


def test_does_not_replace_what_came_meanwhile(tmp_path) -> None:
    with Staged(tmp_path / "out") as staged:
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "theirs").write_text("x")
        with pytest.raises(UsageError, match="meanwhile"):
            staged.commit()
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["theirs"]


def test_swaps_where_the_system_has_no_exchange(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(staging, "_exchange", lambda a, b: False)
    _make(tmp_path / "out", "one")
    _make(tmp_path / "out", "two", replaces=lambda _: True)
    assert (tmp_path / "out" / "a.txt").read_text() == "two"
    assert list(tmp_path.iterdir()) == [tmp_path / "out"]


def test_a_swap_cut_in_half_is_mended(tmp_path) -> None:
    out, work = tmp_path / "out", tmp_path / "out.partial-0123abcd"
    (work / "previous").mkdir(parents=True)
    (work / "previous" / "a.txt").write_text("one")
    (work / "payload").mkdir()
    assert clean_leftovers(out) == [work]
    assert (out / "a.txt").read_text() == "one"
    assert not work.exists()


def test_leftovers_of_the_dead_go_and_neighbours_stay(tmp_path) -> None:
    script = (
        "import sys, time\nfrom pathlib import Path\nfrom gristmill.staging import Staged\n"
        "s = Staged(Path(sys.argv[1]))\n(s.payload / 'a').write_text('x')\nprint('ready', flush=True)\ntime.sleep(60)\n"
    )
    out = tmp_path / "out[1]"  # a name that is also a pattern
    child = subprocess.Popen([sys.executable, "-c", script, str(out)], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        (work,) = tmp_path.iterdir()
        assert clean_leftovers(out) == []
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        time.sleep(0.01)
        assert work.is_dir()
        _make(out, "one")
        assert list(tmp_path.iterdir()) == [out]
    finally:
        child.kill()
        child.wait()


def test_a_link_to_a_folder_is_followed(tmp_path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "real")
    _make(link, "one")
    _make(link, "two", replaces=lambda folder: (folder / "a.txt").exists())
    assert link.is_symlink()
    assert (tmp_path / "real" / "a.txt").read_text() == "two"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link", "real"]


def test_places_where_no_folder_can_be(tmp_path, monkeypatch) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")
    (tmp_path / "here").mkdir()
    for out, says in (
        ("file", "exists and is no folder"),
        ("file/x", "file is no folder; name another place"),
        ("file/x/y", "file is no folder; name another place"),
        ("nowhere", "is a link to .*gone, which is no folder"),
        ("nowhere/x", "nowhere is no folder"),
    ):
        for ask in (staging.check_free, Staged):
            with pytest.raises(UsageError, match=says):
                ask(tmp_path / out)
    monkeypatch.chdir(tmp_path / "here")
    for out in (Path(), tmp_path / "here"):
        with pytest.raises(UsageError, match="is the folder that you are in"):
            Staged(out)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "here", "nowhere"]


def test_whoever_may_be_replaced_is_asked_again_at_the_end(tmp_path) -> None:
    """Hours may lie between, and somebody may have put a file there."""
    out = tmp_path / "out"
    _make(out, "one")

    def ours(folder: Path) -> bool:
        return [p.name for p in folder.iterdir()] == ["a.txt"]

    with Staged(out, replaces=ours) as staged:
        (staged.payload / "a.txt").write_text("two")
        (out / "mine.txt").write_text("x")
        with pytest.raises(UsageError, match="meanwhile"):
            staged.commit()
    assert (out / "a.txt").read_text() == "one"
    assert (out / "mine.txt").read_text() == "x"
