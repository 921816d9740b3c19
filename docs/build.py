"""Write docs/checks.md and docs/faults.md from the code, so that they cannot fall behind it.

python docs/build.py           write them
python docs/build.py --check   fail when one is out of date
"""

from __future__ import annotations

import inspect
import sys
from dataclasses import fields
from pathlib import Path

from gristmill import plugins
from gristmill.synth.faults.catalog import FAULTS

DOCS = Path(__file__).parent

FAULTS_HEAD = """# Faults

What `gristmill inject` can plant into a copy of any LeRobot corpus, with ground truth, and which check has to find it.
`--severity` is a factor on the default. How well the checks do is [measured](detection.md).

This page is written by `python docs/build.py`.

| fault | default severity | what severity means | found by | kind |
|---|---|---|---|---|
"""

CHECKS_HEAD = """# Checks

One section a check: what it asks and how, what to do about it, its parameters, and where method and
thresholds come from. `gristmill explain CHECK` prints the same. A *threshold* may be changed in a
[recipe](recipe.md) at no cost; a *measuring* parameter makes the check's measurements owed again.

This page is written by `python docs/build.py`.
"""


def section(name: str) -> str:
    """One check's section."""
    cls = plugins.load("checks", name)
    lines = [f"### `{name}`", "", inspect.cleandoc(cls.__doc__ or ""), "", f"**What to do.** {cls.fix}", ""]
    parameters = [(f.name, f.default, bool(f.metadata.get("measuring"))) for f in fields(cls)]
    if parameters:
        lines += ["| parameter | default | kind |", "|---|---|---|"]
        lines += [f"| `{n}` | `{d}` | {'measuring' if m else 'threshold'} |" for n, d, m in parameters]
        lines.append("")
    if cls.columns:
        lines += ["| measured | unit | per | about |", "|---|---|---|---|"]
        lines += [f"| `{c.name}` | {c.unit} | {c.per} | {c.about} |" for c in cls.columns]
        lines.append("")
    lines += [f"**Source.** {cls.source}", ""]
    return "\n".join(lines)


def checks() -> str:
    """docs/checks.md."""
    return CHECKS_HEAD + "\n" + "\n".join(section(name) for name in plugins.names("checks"))


def faults() -> str:
    """docs/faults.md."""
    rows = []
    for name, fault in sorted(FAULTS.items()):
        found_by = f"`{fault.check}`" if fault.check else "selection"
        severity = f"{fault.severity:g} {fault.unit}" if fault.scales else "-"
        rows.append(f"| {name} | {severity} | {fault.about} | {found_by} | {fault.kind} |")
    return FAULTS_HEAD + "\n".join(rows) + "\n"


def main() -> int:
    """Write or compare the pages."""
    stale = []
    for name, text in (("checks.md", checks()), ("faults.md", faults())):
        page = DOCS / name
        if "--check" not in sys.argv:
            page.write_text(text, encoding="utf-8")
        elif not page.exists() or page.read_text(encoding="utf-8") != text:
            stale.append(name)
    if stale:
        print(f"out of date: {', '.join(stale)}; run python docs/build.py")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
