"""The rules of the house: size of modules, names, light starts, documented checks, the way imports go."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from gristmill import plugins

ROOT = Path(__file__).resolve().parents[1]
SRC = ROOT / "src" / "gristmill"
MODULES = sorted(SRC.rglob("*.py"))
HEAVY = ("lance", "pyarrow", "duckdb", "numba", "av", "torch", "mujoco", "rich.console", "jinja2", "numpy")


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SRC)))
def test_a_module_fits_in_one_head(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 400, f"{path} has {len(lines)} lines"
    assert not re.fullmatch(r"_?(utils?|helpers?|common|misc)", path.stem), f"{path.name} says nothing"


def test_nothing_is_left_for_later_or_swallowed() -> None:
    pattern = re.compile(r"NotImplementedError|\bTODO\b|\bFIXME\b|\bXXX\b|except[^\n]*:\s*\n\s*pass\b|except\s*:")
    offenders = [str(p) for p in MODULES if pattern.search(p.read_text(encoding="utf-8"))]
    assert offenders == []


def test_source_does_not_import_tests() -> None:
    offenders = [str(p) for p in MODULES if re.search(r"^\s*(from|import) tests\b", p.read_text("utf-8"), re.M)]
    assert offenders == []


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; from gristmill.cli import run; status = run(['--help']); "
        f"print([m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr); sys.exit(status)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


@pytest.mark.parametrize("name", plugins.names("checks"))
def test_every_check_has_a_section_in_the_docs(name: str) -> None:
    text = (ROOT / "docs" / "checks.md").read_text(encoding="utf-8")
    assert re.search(rf"^### `{name}`$", text, re.M), f"docs/checks.md has no section ### `{name}`"


def test_pages_written_from_the_code_are_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "docs" / "build.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_imports_go_one_way() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([str(linter), "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_plugin_names_are_class_names() -> None:
    for kind in ("checks", "sources", "export"):
        for name in plugins.names(kind):
            assert plugins.load(kind, name).__name__ == plugins.class_name(name)
