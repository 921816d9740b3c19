"""How long work says how far it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

# Called with a stage's name, what is done and what there is in all.
Progress: TypeAlias = Callable[[str, int, int], None]
