# Commands for people who use or change Gristmill. Everything is installed into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help demo test check bench bench-audit bench-detect bench-export bench-sources interop clean

help:
	@echo "make demo          install, generate a sample corpus, audit and curate it"
	@echo "make test          install what the tests need and run them all"
	@echo "make check         format, lint, types, import rules and tests"
	@echo "make interop       load exports with LeRobot's own reader (own environment)"
	@echo "make bench         all benchmarks; writes docs/performance.md and docs/detection.md"

$(BIN)/.core: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[synth]"
	touch $@

$(BIN)/.dev: $(BIN)/.core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[synth,hub,hdf5,zarr,rlds,logs,kinematics,dev]"
	touch $@

demo: $(BIN)/.core
	$(BIN)/gristmill demo --out demo

test: $(BIN)/.dev
	$(BIN)/python -m pytest -n 2 --dist loadscope

check: $(BIN)/.dev
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -n 2 --dist loadscope

interop: $(BIN)/.dev
	tests/interop/run

bench: $(BIN)/.dev
	mkdir -p bench-out
	$(BIN)/python benchmarks/bench_audit.py | tee bench-out/audit.log
	$(BIN)/python benchmarks/bench_export.py | tee bench-out/export.log
	$(BIN)/python benchmarks/bench_detect.py | tee bench-out/detect.log
	$(BIN)/python benchmarks/write_performance.py bench-out

bench-audit: $(BIN)/.dev
	$(BIN)/python benchmarks/bench_audit.py

bench-detect: $(BIN)/.dev
	$(BIN)/python benchmarks/bench_detect.py

bench-sources: $(BIN)/.dev
	$(BIN)/python benchmarks/bench_sources.py

bench-export: $(BIN)/.dev
	$(BIN)/python benchmarks/bench_export.py

clean:
	rm -rf $(VENV) demo bench-out .gristmill
