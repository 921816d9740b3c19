"""An audit of every frame against bare decoding of the same files, on real AV1 and h264 recordings.

    python benchmarks/bench_cameras.py [--rounds N]

Bare decoding opens each file once, decodes its frames in order with one thread and copies each luma plane into
a NumPy array. The audit is the whole command with `--cameras all --jobs 1` and an empty store: reading, digests,
all checks, rows written, judging, printing. Corpora of two sizes are cut out of the recordings without encoding
anything again; a fraction is what the additional frames cost bare decoding over what they cost the audit, so
that starting Python and creating a store, which do not grow, are left out. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import av
import numpy as np
import pyarrow.parquet as pq

from gristmill.formats.lerobot.write import DatasetWriter, PacketRange
from gristmill.video.packets import index_file
from processes import Cost, machine, run

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("GRISTMILL_TEST_DATA", ROOT.parent / "shared" / "data"))
GRISTMILL = str(Path(sys.executable).with_name("gristmill"))


@dataclass(frozen=True)
class Recording:
    """A real corpus, and how often it is used in the smaller and in the larger benchmark."""

    folder: str
    camera: str
    small: int
    large: int


RECORDINGS = (
    Recording("g1_inspire", "observation.images.cam_high", 2, 7),
    Recording("gr1_sim_picknplace", "observation.images.ego_view", 4, 16),
)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="the best of so many runs counts")
    parser.add_argument("--bare", type=Path, help="only decode the videos of this corpus; used by the benchmark itself")
    options = parser.parse_args()
    if options.bare:
        print(decode(options.bare))
        return
    print(json.dumps({"machine": machine()} | figures(options.rounds)))


def figures(rounds: int = 3) -> dict[str, float]:
    """Fraction of bare decoding's frames a second that a whole audit reaches, by corpus, for CPU and wall time."""
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="gristmill-bench-") as folder:
        for recording in RECORDINGS:
            found |= measure(recording, Path(folder), rounds)
    return found


def measure(recording: Recording, work: Path, rounds: int) -> dict[str, float]:
    """The figures of one corpus."""
    sizes = (recording.small, recording.large)
    corpora = [cut(recording, work / f"{recording.folder}-{times}", times) for times in sizes]
    frames = [corpus_frames(corpus) for corpus in corpora]
    bare: list[list[Cost]] = [[], []]
    audits: list[list[Cost]] = [[], []]
    for i in range(rounds):
        for at, corpus in enumerate(corpora):
            bare[at].append(checked([sys.executable, __file__, "--bare", str(corpus)]))
            store = str(work / f"store-{recording.folder}-{at}-{i}")
            audits[at].append(checked([*AUDIT, str(corpus), "--store", store]))
    result: dict[str, float] = {f"{recording.folder}_frames": frames[1] - frames[0]}
    for kind in ("cpu_s", "wall_s"):
        # The best runs: other processes on the machine only ever add.
        decoding, auditing = (
            min(getattr(c, kind) for c in costs[1]) - min(getattr(c, kind) for c in costs[0])
            for costs in (bare, audits)
        )
        name = f"{recording.folder}_{kind.removesuffix('_s')}"
        result[f"{name}_fraction"] = round(decoding / auditing, 3)
        result[f"{name}_bare_frames_per_s"] = round((frames[1] - frames[0]) / decoding, 1)
    return result


AUDIT = (GRISTMILL, "audit", "--cameras", "all", "--jobs", "1", "--fail-on", "never")


def checked(command: list[str]) -> Cost:
    """Run a command that has to succeed."""
    cost = run(command)
    if cost.status:
        raise SystemExit(f"{' '.join(command)} failed:\n{cost.output}")
    return cost


def decode(corpus: Path) -> int:
    """Frames of all videos of a corpus, decoded one after another."""
    frames = 0
    for path in sorted(corpus.glob("videos/**/*.mp4")):
        with av.open(str(path)) as container:
            stream = container.streams.video[0]
            stream.codec_context.thread_count = 1
            for frame in container.decode(stream):
                plane = frame.planes[0]
                levels = np.frombuffer(plane, np.uint8).reshape(plane.height, plane.line_size)
                levels[:, : plane.width].copy()
                frames += 1
    return frames


def corpus_frames(corpus: Path) -> int:
    """Frames that the corpus declares."""
    return json.loads((corpus / "meta" / "info.json").read_text())["total_frames"]


def cut(recording: Recording, out: Path, times: int) -> Path:
    """The recording `times` times over as a LeRobot v3.0 dataset, each time a little shorter.

    No two episodes have the same packets, or the audit would decode them once. Cuts are where packets can be
    copied: at keyframes in front, or behind where the file has few of them.
    """
    source = DATA / recording.folder
    info = json.loads((source / "meta" / "info.json").read_text())
    features = {k: info["features"][k] for k in ("observation.state", "action", recording.camera)}
    videos = sorted(source.glob(f"videos/*/{recording.camera}/*.mp4"))
    tables = sorted(source.glob("data/*/*.parquet"))
    with DatasetWriter(out, fps=info["fps"], features=features, robot_type=info["robot_type"]) as writer:
        for time in range(times):
            for video, table in zip(videos, tables, strict=True):
                first, stop = _span(video, time)
                rows = pq.read_table(table, columns=["observation.state", "action"]).slice(first, stop - first)
                columns = {k: np.array(rows[k].to_pylist(), np.float32) for k in rows.column_names}
                packets = PacketRange(path=video, start_frame=first, frames=stop - first)
                writer.add_episode(columns, ["benchmark"], {recording.camera: packets})
        writer.close()
    return out


def _span(video: Path, time: int) -> tuple[int, int]:
    index = index_file(video)
    if len(index.starts) > len(index) // 4:
        return int(index.starts[time]), len(index)
    return 0, int(index.stops[-1 - time])


if __name__ == "__main__":
    main()
