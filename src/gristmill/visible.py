"""Text from recordings made safe to show: control and direction characters become visible escapes.

A task text may hold terminal escapes or characters that reverse the reading order; printing them raw
would let a recording rewrite what its audit says.
"""

from __future__ import annotations

import unicodedata

# Cc: controls; Cf: format (bidi overrides, zero-width); Cs: lone surrogates; Co, Cn: no meaning of their own.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def visible(text: str, limit: int | None = None) -> str:
    r"""`text` on one line with every hidden character written as an escape such as `\x1b` or `\u202e`.

    Args:
        text: anything.
        limit: cut to this many characters, with an ellipsis.
    """
    if not (text.isascii() and text.isprintable()):
        text = "".join(_escape(c) if unicodedata.category(c) in _HIDDEN else c for c in text)
    if limit is not None and len(text) > limit:
        text = text[: limit - 1] + "…"
    return text


def _escape(c: str) -> str:
    code = ord(c)
    named = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
    if c in named:
        return named[c]
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
