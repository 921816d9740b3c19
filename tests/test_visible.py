"""Hidden characters are shown, plain text is left alone."""

from gristmill.visible import visible


def test_plain_text_in_any_script_is_left_alone() -> None:
    for text in ("pick the cube", "Würfel greifen", "キューブを掴む", "возьми куб"):
        assert visible(text) == text


def test_terminal_escapes_line_breaks_and_direction_marks_become_visible() -> None:
    assert visible("a\x1b[31mred") == "a\\x1b[31mred"
    assert visible("a\nb\tc") == "a\\nb\\tc"
    assert visible("abc\u202edef") == "abc\\u202edef"
    assert visible("\x9b2J") == "\\x9b2J"
    assert visible("lone \udcff byte") == "lone \\udcff byte"


def test_long_text_is_cut_to_the_limit() -> None:
    assert visible("x" * 50, limit=10) == "x" * 9 + "…"
