"""One HTML page that shows an audit."""

from gristmill.report.curation import Curation, RuleOutcome
from gristmill.report.page import write_report

__all__ = ["Curation", "RuleOutcome", "write_report"]
