"""Attributes of HDF5 objects as plain text, numbers and JSON; what is neither is None."""

from __future__ import annotations

import json
from math import prod
from typing import Any

import h5py
import numpy as np
from h5py import h5a  # pyright: ignore[reportAttributeAccessIssue] - compiled, without stubs

from gristmill.formats.hdf5.opening import DAMAGE
from gristmill.formats.hdf5.tree import Dataset, Group

_MAX_NUMBERS = 1 << 20


def value(of: Group | Dataset, name: str) -> Any:
    """An attribute as h5py gives it, or None when it is absent, enormous or broken."""
    try:
        if not h5a.exists(of, name.encode()):
            return None
        found = h5a.open(of, name.encode())
        if prod(found.shape) > _MAX_NUMBERS:
            return None
        if found.dtype.kind in "biuf" and not h5py.check_enum_dtype(found.dtype):
            out = np.empty(found.shape, found.dtype)
            found.read(out)
            return out[()]
        return (h5py.Group(of) if isinstance(of, Group) else h5py.Dataset(of)).attrs[name]
    except DAMAGE:
        return None


def exists(of: Group | Dataset, name: str) -> bool:
    """Whether there is such an attribute; it is not read."""
    return bool(h5a.exists(of, name.encode()))


def text(of: Group | Dataset, name: str) -> str | None:
    """An attribute as text. Bytes that are no UTF-8 become replacement characters."""
    found = value(of, name)
    if isinstance(found, np.ndarray) and found.size == 1:
        found = found.reshape(-1)[0]
    if isinstance(found, str):
        found = found.encode("utf-8", "surrogateescape")
    return found.decode("utf-8", "replace") if isinstance(found, bytes) else None


def table(of: Group | Dataset, name: str) -> dict[str, Any] | None:
    """An attribute that holds a JSON object; None when it is absent, {} when it is no such thing."""
    found = text(of, name)
    if found is None:
        return None
    try:
        parsed = json.loads(found, parse_constant=lambda constant: None)  # NaN and its like are no JSON
    except (ValueError, RecursionError):
        return {}
    return parsed if isinstance(parsed, dict) else {}


def count(of: Group | Dataset, name: str) -> int | None:
    """An attribute that counts something; None when it is absent or no whole number of zero or more."""
    found = np.asarray(value(of, name))
    if found.size != 1 or found.dtype.kind not in "iuf":
        return None
    number = float(found.reshape(-1)[0])
    return int(number) if np.isfinite(number) and number >= 0 and number.is_integer() else None


def flag(of: Group | Dataset, name: str) -> bool | None:
    """An attribute that says yes or no, or None."""
    found = np.asarray(value(of, name))
    if found.size != 1 or found.dtype.kind not in "biuf":
        return None
    return bool(found.reshape(-1)[0])
