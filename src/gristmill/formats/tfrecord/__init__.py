"""RLDS episodes in TFRecord shards, read without TensorFlow."""
