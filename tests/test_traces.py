import tracemalloc
from dataclasses import fields

import numpy as np
import pytest

from gristmill.episode import CameraInfo
from gristmill.errors import VideoError
from gristmill.testing import ArrayCamera
from gristmill.traces import CameraTraces, block_sums, difference_hash, from_arrays, to_arrays, trace
from gristmill.video.camera import VideoCamera
from gristmill.video.encode import encode


def noise(frames, height, width, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (frames, height, width)).astype(np.uint8)


def by_hand(luma, step):
    """Plain NumPy on the pixels that are looked at."""
    small = luma[:, ::step, ::step].astype(np.float64)
    diff = np.full(len(small), np.nan)
    diff[1:] = np.abs(small[1:] - small[:-1]).mean(axis=(1, 2))
    curve = small[:, :-2, 1:-1] + small[:, 2:, 1:-1] + small[:, 1:-1, :-2] + small[:, 1:-1, 2:]
    return diff, (curve - 4 * small[:, 1:-1, 1:-1]).var(axis=(1, 2))


@pytest.mark.parametrize(
    ("height", "width", "step"), [(48, 40, 1), (96, 96, 1), (128, 130, 2), (257, 301, 4), (480, 640, 4)]
)
def test_against_plain_numpy(height, width, step):
    luma = noise(30, height, width)
    traces = trace(ArrayCamera(luma))
    diff, sharp = by_hand(luma, step)
    assert (traces.stride, len(traces), traces.lost) == (step, 30, 0)
    assert traces.diff == pytest.approx(diff, rel=0.01, nan_ok=True)
    assert traces.sharp == pytest.approx(sharp, rel=1e-4)
    assert traces.mean == pytest.approx(luma.mean(axis=(1, 2)), abs=6)
    assert traces.times_s == pytest.approx(np.arange(30) / 30)


def test_grey_levels_of_a_small_frame_are_exact():
    luma = np.zeros((3, 40, 50), np.uint8)
    luma[0] = np.arange(2000).reshape(40, 50) // 20  # 0..99, each twenty times
    luma[1] = 16
    luma[2, :10] = 250  # a quarter of the pixels
    traces = trace(ArrayCamera(luma))
    assert traces.mean.tolist() == pytest.approx([49.5, 16, 62.5])
    assert traces.std.tolist() == pytest.approx([np.arange(100).std(), 0, 250 * np.sqrt(0.25 * 0.75)])
    assert traces.p02.tolist() == [1, 16, 0]  # 2 % are the levels 0 and 1
    assert traces.p98.tolist() == [97, 16, 250]
    assert traces.dark.tolist() == pytest.approx([0.17, 1, 0.75])
    assert traces.bright.tolist() == pytest.approx([0, 0, 0.25])


def test_the_busiest_block_tells_of_small_changes():
    luma = np.full((3, 64, 64), 100, np.uint8)
    luma[2, 8:16, 16:24] += 8  # one of 64 blocks
    traces = trace(ArrayCamera(luma))
    assert np.isnan(traces.diff[0])
    assert traces.diff[1:].tolist() == pytest.approx([0, 8 / 64])
    assert traces.diff_peak[1:].tolist() == pytest.approx([0, 8])


def test_the_laplacian_of_a_checkerboard():
    board = (np.indices((32, 32)).sum(axis=0) % 2 * 10).astype(np.uint8)
    # Every pixel differs from its four neighbours by 10: the Laplacian is +40 or -40.
    assert trace(ArrayCamera(board[None])).sharp[0] == pytest.approx(1600)


def test_blocks_do_not_depend_on_how_frames_come():
    luma = noise(70, 48, 64)
    whole = trace(ArrayCamera(luma))

    class OneByOne(ArrayCamera):
        def luma(self, *, chunk=64):
            return super().luma(chunk=1)

    single = trace(OneByOne(luma))
    for f in fields(CameraTraces):
        a, b = getattr(whole, f.name), getattr(single, f.name)
        assert np.array_equal(a, b, equal_nan=isinstance(a, np.ndarray) and a.dtype.kind == "f"), f.name


def test_hashes_of_alike_frames_are_alike():
    # Sixteen levels from block to block, upwards in the left half and downwards in the right one.
    ramp = np.abs(np.arange(72) // 8 - 4) * 16
    frame = np.broadcast_to(ramp, (64, 72)).astype(np.int16)
    (plain,) = difference_hash(frame[None]).tolist()
    assert plain == int("00001111" * 8, 2)
    noisy = frame + np.random.default_rng(0).integers(-3, 4, frame.shape).astype(np.int16)
    assert difference_hash(noisy[None]).tolist() == [plain]
    assert bin(difference_hash(255 - frame[None])[0] ^ np.uint64(plain)).count("1") == 64


@pytest.mark.parametrize(("height", "width"), [(64, 64), (61, 83), (1200, 20), (1023, 9), (3, 5), (1, 1)])
def test_block_sums_against_a_loop(height, width):
    frame = noise(2, height, width).astype(np.int16)
    sums, areas = block_sums(frame, 8, 9)
    rows, columns = min(height, 8), min(width, 9)
    tall, wide = height // rows, width // columns
    assert sums.shape == (2, rows, columns)
    for i in range(rows):
        for j in range(columns):
            y = slice(i * tall, height if i == rows - 1 else (i + 1) * tall)
            x = slice(j * wide, width if j == columns - 1 else (j + 1) * wide)
            assert sums[:, i, j].tolist() == frame[:, y, x].sum(axis=(1, 2)).tolist()
            assert areas[i, j] == frame[0, y, x].size


@pytest.mark.parametrize("shape", [(5, 1, 1), (5, 2, 3), (1, 64, 64), (0, 64, 64)])
def test_tiny_and_empty_videos(shape):
    traces = trace(ArrayCamera(noise(*shape)))
    assert len(traces) == shape[0]
    assert np.isfinite(traces.mean).all()


def test_limited_range_is_stretched_to_0_to_255(tmp_path):
    path = tmp_path / "a.mp4"
    images = np.zeros((4, 64, 64, 3), np.uint8)
    images[2:] = 255
    encode(path, [images], 30)
    traces = trace(video(path, 4))
    assert traces.mean.tolist() == pytest.approx([0, 0, 255, 255], abs=2)
    assert traces.dark.tolist() == pytest.approx([1, 1, 0, 0])
    assert traces.bright.tolist() == pytest.approx([0, 0, 1, 1])
    assert traces.diff[2] == pytest.approx(255, abs=3)


def video(path, frames):
    info = CameraInfo(key="top", height=64, width=64, rate_hz=30)
    return VideoCamera(info=info, path=path, start_s=0.0, frames=frames, rate_hz=30.0, where="episode 0")


def test_frames_that_the_file_lacks_are_not_invented(tmp_path):
    path = tmp_path / "a.mp4"
    encode(path, [np.repeat(noise(6, 64, 64)[..., None], 3, axis=3)], 30)
    traces = trace(video(path, 10))
    assert (len(traces), traces.lost) == (6, 0)


def test_damage_leaves_what_came_before_and_counts_the_rest(tmp_path, real_data):
    source = sorted(real_data.glob("g1_inspire/videos/*/*/*.mp4"))[0]
    data = bytearray(source.read_bytes())
    data[1_000_000:1_000_400] = bytes(400)
    path = tmp_path / "damaged.mp4"
    path.write_bytes(data)
    info = CameraInfo(key="top", height=480, width=640, rate_hz=30)
    traces = trace(VideoCamera(info=info, path=path, start_s=0, frames=221, rate_hz=30, where="episode 0"))
    assert 100 < len(traces) < 130
    assert len(traces) + traces.lost == 221


def test_a_missing_file_raises(tmp_path):
    with pytest.raises(VideoError, match=r"episode 0: .*gone\.mp4"):
        trace(video(tmp_path / "gone.mp4", 10))


def test_a_real_recording(real_data):
    source = sorted(real_data.glob("g1_inspire/videos/*/*/*.mp4"))[1]
    info = CameraInfo(key="top", height=480, width=640, rate_hz=30)
    traces = trace(VideoCamera(info=info, path=source, start_s=0, frames=277, rate_hz=30, where="episode 0"))
    assert len(traces) == 277
    # The recorder repeats frames (9 to 27 % in this corpus); the codec stores those as almost nothing.
    assert 0.09 < (traces.diff_peak[1:] < 0.25).mean() < 0.5
    assert 110 < traces.mean.mean() < 130


def test_arrays_hold_everything():
    traces = trace(ArrayCamera(noise(5, 200, 200)))
    again = from_arrays(to_arrays(traces))
    for f in fields(CameraTraces):
        assert np.array_equal(getattr(again, f.name), getattr(traces, f.name), equal_nan=f.name.startswith("diff")), (
            f.name
        )
    assert {getattr(traces, n).dtype.name for n in ("mean", "std", "p02", "dark", "diff", "sharp")} == {"float32"}
    assert again.phash.dtype == np.uint64
    assert isinstance(again.stride, int)


def test_memory_does_not_grow_with_the_pictures():
    camera = ArrayCamera(noise(1, 480, 640).repeat(60, axis=0))
    camera.packets()
    tracemalloc.start()
    trace(camera)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * 60 * 480 * 640  # the packets of this camera are a copy of its pictures
