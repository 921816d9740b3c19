"""How fast and how frugal an audit is, against bare decoding and against the fastest peer, in one run.

    python benchmarks/bench_audit.py [--quick]

Corpora are generated. The peer (`rrc`, from the package robot-report-card) is installed into .venv-peers on
first use. The last line is one JSON object; docs/performance.md is written from it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from corpora import smooth_corpus
from processes import Cost, machine, run

ROOT = Path(__file__).resolve().parents[1]
GRISTMILL = str(Path(sys.executable).with_name("gristmill"))
PEERS = ROOT / ".venv-peers"


def main() -> None:
    """Run everything and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one run of each instead of three, smaller memory test")
    quick = parser.parse_args().quick
    runs = 1 if quick else 3
    figures: dict[str, object] = {"machine": machine()}
    with tempfile.TemporaryDirectory(prefix="gristmill-bench-") as folder:
        work = Path(folder)
        figures["lowdim"] = printed("bench_lowdim.py")
        figures["cameras"] = printed("bench_cameras.py")
        figures |= start_up(runs)
        figures |= whole_audit(work, runs)
        figures |= unchanged(work, runs)
        figures |= memory(work, 5_000 if quick else 20_000)
    print(json.dumps(figures))


def printed(script: str) -> dict[str, object]:
    """The last line of another benchmark, run in a process of its own."""
    done = subprocess.run([sys.executable, str(Path(__file__).with_name(script))], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout.strip().splitlines()[-1])


def start_up(runs: int) -> dict[str, float]:
    """Seconds of `gristmill --help`."""
    return {"help_s": median(run([GRISTMILL, "--help"]).wall_s for _ in range(max(runs, 5)))}


def whole_audit(work: Path, runs: int) -> dict[str, float]:
    """A new corpus from start to printed verdict, and CPU growth against the peer's."""
    corpora = {n: smooth_corpus(work / f"corpus-{n}", n) for n in (500, 5_000)}
    ours: dict[int, list[Cost]] = {500: [], 5_000: []}
    theirs: dict[int, list[Cost]] = {500: [], 5_000: []}
    rrc = peer()
    for i in range(runs):
        for n, corpus in corpora.items():
            ours[n].append(audit(corpus, work / f"store-{n}-{i}", fresh=True))
            out = str(work / "rrc.json")
            theirs[n].append(run([rrc, "score", str(corpus), "--only-flagged", "--json-out", out, "--overwrite"]))
    growth = median(c.cpu_s for c in ours[5_000]) - median(c.cpu_s for c in ours[500])
    peer_growth = median(c.cpu_s for c in theirs[5_000]) - median(c.cpu_s for c in theirs[500])
    return {
        "audit_500_wall_s": median(c.wall_s for c in ours[500]),
        "audit_500_cpu_s": median(c.cpu_s for c in ours[500]),
        "audit_5000_wall_s": median(c.wall_s for c in ours[5_000]),
        "audit_cpu_growth_s": growth,
        "rrc_500_cpu_s": median(c.cpu_s for c in theirs[500]),
        "rrc_cpu_growth_s": peer_growth,
        "growth_ratio_to_rrc": growth / peer_growth,
    }


def unchanged(work: Path, runs: int) -> dict[str, float]:
    """10,000 episodes: nothing changed, one in a hundred new, one threshold changed."""
    corpus, grown = smooth_corpus(work / "corpus-10000", 10_000), smooth_corpus(work / "grown", 10_100)
    store = work / "store-10000"
    first = audit(corpus, store, fresh=True)
    again = [audit(corpus, store) for _ in range(runs)]
    recipe = work / "recipe.toml"
    recipe.write_text("[checks.jitter]\nmax_outside = 0.02\n")
    threshold = audit(corpus, store, "--recipe", str(recipe))
    # The same recordings under another name, and a hundred more.
    more = audit(grown, store)
    return {
        "unchanged_10000_wall_s": median(c.wall_s for c in again),
        "unchanged_10000_measurements": measured(again[0])[0],
        "threshold_measurements": measured(threshold)[0],
        "threshold_frames_decoded": measured(threshold)[2],
        "one_percent_new_episodes_measured": measured(more)[0] / measured(first)[0] * 10_000,
    }


def memory(work: Path, large: int) -> dict[str, float]:
    """Peak memory of a first audit with JSON and report."""
    peaks = {}
    for n in (2_000, large):
        extra = ["--json", str(work / "m.json"), "--report", str(work / "m.html")]
        peaks[n] = audit(smooth_corpus(work / f"corpus-{n}", n), work / f"store-m-{n}", *extra, memory=True).peak_pss_mb
    return {
        "peak_mb_2000": peaks[2_000],
        f"peak_mb_{large}": peaks[large],
        "memory_growth": peaks[large] / peaks[2_000],
    }


def audit(corpus: Path, store: Path, *more: str, fresh: bool = False, memory: bool = False) -> Cost:
    """One `gristmill audit --cameras none`; fails when the command does."""
    if fresh and store.exists():
        raise RuntimeError(f"{store} is not new")
    command = [GRISTMILL, "audit", str(corpus), "--cameras", "none", "--fail-on", "never", "--store", str(store)]
    cost = run([*command, *more], memory=memory)
    if cost.status:
        raise RuntimeError(cost.output)
    return cost


def measured(cost: Cost) -> tuple[int, int, int]:
    """Measurements, episodes read and frames decoded, as the command prints them."""
    line = next(x for x in cost.output.splitlines() if x.startswith("Measured now:"))
    numbers = [int(w) for w in line.replace(",", " ").split() if w.isdecimal()]
    return numbers[0], numbers[1], numbers[2]


def peer() -> str:
    """The command of robot-report-card, in an environment of its own."""
    command = PEERS / "bin" / "rrc"
    if not command.exists():
        subprocess.run([sys.executable, "-m", "venv", str(PEERS)], check=True)
        pip = [str(PEERS / "bin" / "python"), "-m", "pip", "install", "--quiet", "robot-report-card[score]"]
        subprocess.run(pip, check=True)
    return str(command)


if __name__ == "__main__":
    main()
