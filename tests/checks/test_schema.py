"""The check reports the reader's issues that name it, and no others."""

from __future__ import annotations

from gristmill.checks.schema import Schema
from gristmill.finding import Issue, Kind
from gristmill.testing import CheckContract, reaching


class TestSchema(CheckContract):
    check = Schema()

    def clean_episode(self, index):
        return reaching(index, issues=[_issue("another", index)])

    def broken_episode(self, index):
        return reaching(index, issues=[_issue("schema", index), _issue("another", index)])

    def test_the_issue_is_passed_on(self):
        (found,) = self.judge(self.broken_corpus())
        assert (found.code, found.kind, found.channel) == ("broken", Kind.DEFECT, "action")
        assert (found.message, found.fix) == ("episode 3: something is wrong.", "Mend it.")


def _issue(check, index):
    message = f"episode {index}: something is wrong."
    return Issue(check=check, code="broken", kind=Kind.DEFECT, message=message, fix="Mend it.", channel="action")
