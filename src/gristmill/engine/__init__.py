"""Where work runs: what a worker does, and the pool of processes that does it."""
