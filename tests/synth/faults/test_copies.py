"""Copies of episodes, at the end of the corpus."""

from __future__ import annotations

import numpy as np

CHANNELS = ("observation.state", "action", "observation.contact_force", "next.success", "timestamp", "operator_index")


def test_exact_duplicate_has_the_same_values_and_packets(all_faults):
    for planted in all_faults.planted("exact_duplicate"):
        model, copy = (all_faults.after.episodes[planted[k]] for k in ("copy_of", "episode"))
        for key in CHANNELS:
            assert np.array_equal(model.rows[key], copy.rows[key])
        assert (copy.rows["episode_index"] == planted["episode"]).all() and model.tasks == copy.tasks
        for camera in all_faults.after.cameras:
            assert all_faults.after.packets(planted["copy_of"], camera) == all_faults.after.packets(
                planted["episode"], camera
            )
            assert model.videos[camera] != copy.videos[camera]


def test_near_duplicate_differs_by_a_thousandth_of_the_range(all_faults):
    everything = {
        k: np.concatenate([t.rows[k] for t in all_faults.before.episodes.values()])
        for k in ("observation.state", "action")
    }
    for planted in all_faults.planted("near_duplicate"):
        model, copy = (all_faults.after.episodes[planted[k]] for k in ("copy_of", "episode"))
        for key, values in everything.items():
            off = (copy.rows[key] - model.rows[key]) / np.ptp(values, axis=0)
            assert 0.0008 < off.std() < 0.0012 and abs(off.mean()) < 0.0003
        assert np.array_equal(model.rows["next.success"], copy.rows["next.success"])
        for camera in all_faults.after.cameras:
            a = all_faults.after.frames(planted["copy_of"], camera).astype(float)
            b = all_faults.after.frames(planted["episode"], camera).astype(float)
            assert a.shape == b.shape and 0 < np.abs(a - b).mean() < 4
            assert not set(all_faults.after.packets(planted["copy_of"], camera)) & set(
                all_faults.after.packets(planted["episode"], camera)
            )


def test_copies_come_last_and_are_counted(all_faults):
    new = [p["episode"] for p in all_faults.truth["planted"] if p["copy_of"] is not None]
    assert sorted(new) == list(range(len(all_faults.before.episodes), len(all_faults.after.episodes)))


def test_copies_in_real_corpora(real_data, plant):
    found = plant(real_data / "pusht_lowdim", "exact_duplicate", "near_duplicate", share=0.02)
    assert len(found.after.episodes) == 206 + 4 == found.after.info["total_episodes"]
    for planted in found.truth["planted"]:
        model, copy = (found.after.episodes[planted[k]] for k in ("copy_of", "episode"))
        same = np.array_equal(model.rows["observation.state"], copy.rows["observation.state"])
        assert same == (planted["fault"] == "exact_duplicate")
        assert copy.length == model.length == len(copy.rows["index"])
        assert copy.bounds[1] - copy.bounds[0] == copy.length
