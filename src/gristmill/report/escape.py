"""Making text from recordings harmless in a page: hidden characters shown, data blocks that cannot be left."""

from __future__ import annotations

from typing import Any

import orjson
from markupsafe import Markup

from gristmill.visible import visible

# A data block inside a page ends at "</script" and may open a comment; "<" alone is enough to do either.
_SCRIPT = ((b"<", b"\\u003c"), (b">", b"\\u003e"), (b"&", b"\\u0026"))


def shown(value: Any) -> Any:
    """What a template prints: text made visible, markup and numbers left alone, nothing for None."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return visible(value)
    return "" if value is None else value


def script_json(value: Any) -> Markup:
    """JSON for a `<script type="application/json">` block, which no text in it can leave.

    Texts must have passed `visible` already: lone surrogates cannot be encoded.
    Numbers that are not finite become null.
    """
    data = orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)
    for raw, escaped in _SCRIPT:
        data = data.replace(raw, escaped)
    return Markup(data.decode())  # angle brackets and ampersands are gone
