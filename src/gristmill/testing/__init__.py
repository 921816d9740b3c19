"""For authors of plug-ins: episodes made of arrays, judging without a store, and tests to inherit.

from gristmill.testing import CheckContract, make_episode

class TestMyCheck(CheckContract):
    check = MyCheck()

    def broken_episode(self, index):
        return make_episode(state=..., index=index)
"""

from gristmill.testing.cameras import ArrayCamera
from gristmill.testing.check_contract import CheckContract
from gristmill.testing.episodes import facts_of, make_episode, reaching
from gristmill.testing.hostile import hostile_episodes
from gristmill.testing.judging import judge, manifest_of, measure_all
from gristmill.testing.source_contract import SourceContract

__all__ = [
    "ArrayCamera",
    "CheckContract",
    "SourceContract",
    "facts_of",
    "hostile_episodes",
    "judge",
    "make_episode",
    "manifest_of",
    "measure_all",
    "reaching",
]
