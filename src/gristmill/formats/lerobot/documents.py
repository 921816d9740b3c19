"""JSON and JSON lines as recordings hold them: bounded, tolerant of NaN and of text that is not UTF-8."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from gristmill.errors import CorpusError

# Real files stay below 1 MB; the limits only keep a hostile one from filling memory.
MAX_DOCUMENT_BYTES = 64 << 20
MAX_LINE_BYTES = 16 << 20
_HALF_PAIR = re.compile(r"\\u[dD][89a-fA-F]")  # whole pairs are found too, and stay what they are


class Line(NamedTuple):
    """One line of a JSON lines file. `value` is None when `problem` says why it cannot be read."""

    number: int  # from 1
    offset: int  # bytes from the start of the file
    value: dict[str, Any] | None
    problem: str | None
    lossy: bool  # bytes that are not UTF-8, or halves of surrogate pairs, were replaced


def read_json(path: Path, name: str) -> Any:
    """The content of a JSON file; see `read_document`."""
    return read_document(path, name)[0]


def read_document(path: Path, name: str) -> tuple[Any, bool]:
    """The content of a JSON file, and whether text in it was replaced that could not be read.

    Args:
        path: the file.
        name: how errors name it, relative to the corpus.

    Raises:
        CorpusError: the file is absent, empty, too large or no JSON.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise CorpusError(f"{name} is no regular file; restore it from the dataset's origin")
        size = status.st_size
        if size > MAX_DOCUMENT_BYTES:
            raise CorpusError(f"{name} has {size:,} bytes, more than {MAX_DOCUMENT_BYTES:,}; it cannot be metadata")
        data = path.read_bytes()
    except OSError as error:
        raise CorpusError(f"{name} cannot be read ({error.strerror}); restore it from the dataset's origin") from None
    if not data.strip():
        raise CorpusError(f"{name} is empty; restore it from the dataset's origin")
    value, problem, lossy = parse(data)
    if problem is not None:
        raise CorpusError(f"{name} is not valid JSON ({problem}); repair it or restore it from the dataset's origin")
    return value, lossy


def read_lines(path: Path) -> Iterator[Line]:
    """The lines of a JSON lines file, blank ones left out, one at a time.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        offset, number = 0, 0
        while data := file.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(data) > MAX_LINE_BYTES:
                yield Line(number, offset, None, f"longer than {MAX_LINE_BYTES:,} bytes", False)
                return
            if not data.isspace():
                value, problem, lossy = parse(data)
                if problem is None and not isinstance(value, dict):
                    value, problem = None, f"expected an object, found {type(value).__name__}"
                yield Line(number, offset, value, problem, lossy)
            offset += len(data)


def parse(data: bytes) -> tuple[Any, str | None, bool]:
    """The value, or None and the reason; and whether text was replaced that is not Unicode.

    orjson is strict; what it refuses is tried again with the standard parser, which takes NaN and Infinity. That one
    also takes an escaped half of a surrogate pair, which no text in UTF-8 can hold.
    """
    try:
        return orjson.loads(data), None, False
    except orjson.JSONDecodeError:
        text = data.decode("utf-8-sig", "replace")
    lossy = "\ufffd" in text and "\ufffd".encode() not in data
    try:
        value = json.loads(text)
        if _HALF_PAIR.search(text):
            read = json.dumps(value, ensure_ascii=False)
            whole = read.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            lossy = lossy or whole != read
            value = json.loads(whole)
        return value, None, lossy
    except RecursionError:
        return None, "nested too deeply", lossy
    except ValueError as error:
        return None, str(error).splitlines()[0][:120], lossy
