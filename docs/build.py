"""Write docs/checks.md from the checks themselves, so that it cannot fall behind them.

    python docs/build.py           write it
    python docs/build.py --check   fail when it is out of date
"""

from __future__ import annotations

import inspect
import sys
from dataclasses import fields
from pathlib import Path

from gristmill import plugins

PAGE = Path(__file__).with_name("checks.md")

HEAD = """# Checks

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


def page() -> str:
    """The whole page."""
    return HEAD + "\n" + "\n".join(section(name) for name in plugins.names("checks"))


def main() -> int:
    """Write or compare the page."""
    text = page()
    if "--check" in sys.argv:
        if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
            print("docs/checks.md is out of date: run python docs/build.py")
            return 1
        return 0
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
