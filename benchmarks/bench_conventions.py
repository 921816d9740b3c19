"""Errors of convention: how many are found with their signal present, and how many are alleged where there is none.

    python benchmarks/bench_conventions.py [--seeds N] [--episodes N]

For each seed a corpus of the sample is generated. Each error of `gristmill.synth.convention_errors` is planted into
all of it, then its signal is taken away. Nothing may be alleged of the same recordings in any convention that their
card tells truly, nor of real recordings (GRISTMILL_TEST_DATA, by default ../shared/data). The last line is one JSON
object.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from gristmill import plugins
from gristmill.episode import Episode
from gristmill.sources import open_path
from gristmill.synth import generate
from gristmill.synth.convention_errors import ERRORS, EXTRA, TRUE, plant, true_card, truly, without
from gristmill.testing.judging import judge, measure_all

CONVENTIONS = (
    "gripper_polarity", "gripper_range", "quaternion_order", "quaternion_norm", "quaternion_flip", "angle_unit",
    "motor_ticks", "action_mode", "delta_frame", "joint_sign", "action_shift", "control_rate",
)  # fmt: skip
REAL = ("g1_inspire", "gr1_sim_picknplace", "pusht_lowdim")


def sample(folder: Path, seed: int, episodes: int) -> list[Episode]:
    place = generate(folder / str(seed), episodes=episodes, seed=seed, video=False, jobs=1, extra=EXTRA)
    return list(open_path(place, card=true_card()).episodes(range(episodes)))


def real_recordings() -> Path | None:
    """The folder of recordings of which nothing is wrong; None where there is none."""
    folder = Path(os.environ.get("GRISTMILL_TEST_DATA", Path(__file__).parents[2] / "shared" / "data"))
    return folder if folder.is_dir() else None


def figures(seeds: int = 10, episodes: int = 12) -> dict[str, Any]:
    """Counts over so many corpora of so many episodes each, and over the real recordings."""
    real = real_recordings()
    checks = {name: plugins.load("checks", name)() for name in CONVENTIONS}
    by_error = {name: {"asked": 0, "found": 0, "corpora": 0, "without": 0} for name in ERRORS}
    false: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(seeds):
            clean = sample(Path(folder), seed, episodes)
            for name, error in ERRORS.items():
                check, tally = checks[error.check], by_error[name]
                spoiled = [plant(name, e) for e in clean]
                rows = {f.row for f in judge(check, spoiled)}
                tally["asked"] += sum(m is not None and not m.unknown for m in measure_all(check, spoiled))
                tally["found"] += len(rows)
                tally["corpora"] += bool(rows)
                blind = [without(e, error.needs) for e in spoiled]
                known = sum(m is not None and not m.unknown for m in measure_all(check, blind))
                tally["without"] += known + len(judge(check, blind))
            for name in TRUE:
                corpus = [truly(name, e) for e in clean]
                false[name] = false.get(name, 0) + sum(len(judge(check, corpus)) for check in checks.values())
    if real is not None:
        for name in REAL:
            card = "pusht" if name == "pusht_lowdim" else None
            false[name] = alleged(real / name, card, checks)
    whole = [n for n, t in by_error.items() if t["corpora"] == seeds and t["without"] == 0]
    found = {c for c in CONVENTIONS if all(n in whole for n, e in ERRORS.items() if e.check == c)}
    return {
        "conventions": len(CONVENTIONS),
        "conventions_found": len(found),
        "conventions_false": sum(false.values()),
        "conventions_episodes": seeds * episodes,
        "conventions_by_error": by_error,
        "conventions_alleged": false,
    }


def alleged(folder: Path, card: str | None, checks: dict[str, Any]) -> int:
    from gristmill.embodiment import load_card

    corpus = open_path(folder, card=load_card(card) if card else None)
    recorded = list(corpus.episodes(range(len(corpus.table))))
    return sum(len(judge(check, recorded)) for check in checks.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--episodes", type=int, default=12)
    options = parser.parse_args()
    result = figures(options.seeds, options.episodes)
    for name, tally in result["conventions_by_error"].items():
        print(f"{name:22} {tally}")
    for name, count in result["conventions_alleged"].items():
        print(f"{name:26} {count} alleged")
    print(json.dumps({"bench": "conventions"} | result))


if __name__ == "__main__":
    main()
