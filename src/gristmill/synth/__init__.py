"""The sample generator, and faults with ground truth planted into the bytes of a corpus.

`generate` needs MuJoCo (the extra `synth`); `inject` does not. Both are imported when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gristmill.synth.arm_card import sample_card
    from gristmill.synth.injection import inject
    from gristmill.synth.sample import generate

__all__ = ["generate", "inject", "sample_card"]


def __getattr__(name: str) -> Any:
    if name == "generate":
        from gristmill.synth.sample import generate

        return generate
    if name == "inject":
        from gristmill.synth.injection import inject

        return inject
    if name == "sample_card":
        from gristmill.synth.arm_card import sample_card

        return sample_card
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
