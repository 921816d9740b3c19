"""All faults by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from gristmill.synth.faults import copies, metadata, motion, timing, video, words
from gristmill.synth.faults.fault import Fault

FAULTS: Mapping[str, Fault] = MappingProxyType(
    {fault.name: fault for module in (video, motion, timing, copies, words, metadata) for fault in module.FAULTS}
)
