"""One HTML page that shows an audit. The page's machinery is imported when a page is first written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gristmill.report.curation import Curation, RuleOutcome

if TYPE_CHECKING:
    from gristmill.report.page import write_report

__all__ = ["Curation", "RuleOutcome", "write_report"]


def __getattr__(name: str) -> Any:
    if name == "write_report":
        from gristmill.report.page import write_report

        return write_report
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
