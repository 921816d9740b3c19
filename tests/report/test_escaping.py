"""Text from recordings is shown, never obeyed."""

from __future__ import annotations

import json
import re

import pytest
from hostile_page import hostile_page

from gristmill.report.escape import script_json


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    return hostile_page(tmp_path_factory.mktemp("hostile") / "report.html")


def test_no_markup_of_theirs_survives(page: str) -> None:
    assert "alert(1)" in page, "the texts are there"
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "<svg onload" not in page
    # Every script and style element is ours: the policy's, or a data block.
    assert len(re.findall(r"<script", page)) == len(re.findall(r"</script", page)) == 3
    assert len(re.findall(r"<style", page)) == len(re.findall(r"</style", page)) == 1
    assert "<!--" not in page


def test_no_attribute_of_theirs_survives(page: str) -> None:
    markup = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", page, flags=re.S)
    for tag in re.findall(r"<[a-z][^<>]*>", markup):
        outside = re.sub(r'"[^"]*"', "", tag)
        assert "alert" not in outside, tag
        assert not re.search(r"\son\w+\s*=", outside), tag
    for name in ("href", "src"):
        for value in re.findall(rf'\s{name}="([^"]*)"', markup):
            assert "alert" not in value, value


def test_templates_in_texts_are_not_rendered(page: str) -> None:
    assert "{{ 7 * 7 }}" in page
    assert "{% raw %}" in page


def test_hidden_characters_are_shown(page: str) -> None:
    ours = "\n\u202f"
    hidden = {c for c in page if not c.isprintable() and c not in ours}
    assert hidden == set()
    for code in ("\\x1b", "\\x00", "\\u202e", "\\u2066", "\\u200b", "\\ufeff", "\\U000e0041", "\\udc80", "\\u2028"):
        assert code in page, code


def test_data_blocks_are_json_that_no_text_can_leave(page: str) -> None:
    (block,) = re.findall(r'<script type="application/json" class="rows">(.*?)</script>', page, re.S)
    assert "<" not in block
    assert ">" not in block
    assert "&" not in block
    texts = json.loads(block)["s"]
    assert any("</script><script>alert(1)</script>" in text for text in texts), "shown as it was"


def test_script_json_keeps_the_value() -> None:
    value = {"a": ["</script>", "&amp;", None, 1.5], "b": "ü"}
    assert json.loads(script_json(value)) == value
    assert json.loads(script_json([float("nan"), float("inf")])) == [None, None]
