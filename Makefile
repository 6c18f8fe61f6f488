# Three commands: make demo, make test, make lint (and make kernels, make bench, make attack, make dist). All work in
# .venv, which they make themselves.
PYTHON ?= python3
EXTRAS ?=
# Processes of pytest: one more than cores, as browsers and Spark are often waited for.
WORKERS ?= $(shell expr $$(nproc 2>/dev/null || echo 2) + 1)
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
# Slow tests (the evaluation data, whole builds, Spark) are for EXTRAS=all, which CI runs.
ifeq ($(EXTRAS),all)
GROUPS := test,dev,oracles,review,postgres,pages,torch,transformers,weights,annotators,spark
SELECT :=
else
GROUPS := test
SELECT := -m "not slow"
endif

.PHONY: demo review kills test lint bench attack attack-checked dist kernels clean

demo: kernels
	$(BIN)/seqtruth demo -o demo-output

# The review desk of the demo, in the browser; the address is printed.
review: kernels
	$(PIP) -e '.[review]'
	test -f demo-output/result.seqtruth || $(BIN)/seqtruth demo -o demo-output
	$(BIN)/seqtruth review demo-output/result.seqtruth

# The desk's server killed 200 times under two reviewers, on SQLite and on PostgreSQL: nothing that was confirmed may be lost.
kills: kernels
	$(PIP) -e '.[review,postgres,pages]'
	cd tests && ../$(BIN)/python -m review.kills 200

test: kernels
	$(PIP) -e '.[$(GROUPS)]'
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup --no-loadscope-reorder $(SELECT)

# What we write, loaded by the tools' own packages; these are large and pin much, so they get their own place.
test-tools: .venv-tools/core
	.venv-tools/bin/python -m pytest -m tools tests/io/formats

.venv-tools/core: pyproject.toml
	$(PYTHON) -m venv .venv-tools
	.venv-tools/bin/python -m pip install --quiet --disable-pip-version-check -e '.[test,tools]'
	touch $@

lint: .venv/core
	$(PIP) -e '.[dev,review]'
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

# SIZES=1e5,1e6 THREADS=2 BUDGET=900 QUICK=1 ONLY=ours-ds,crowdkit-ds ANEW=1
# PARTS=tables,first-use,apart,singles,flagship; goes on where it was stopped.
bench: kernels
	$(PIP) -e '.[bench,spark]'
	$(BIN)/python -m bench

# 200,000 mutated inputs, 20,000 archives, 200 kills, hostile places; goes on where it was stopped.
# ARGS="--minutes 10 --workers 1"
attack: .venv/core
	$(PIP) -e '.[test,torch,review,pages]'
	PYTHONPATH=. $(BIN)/python -m tests.attack $(ARGS)

# The kernels' tests and a part of the attack with bounds checks, and under the compiler's sanitizers.
attack-checked: .venv/core
	$(PIP) -e '.[test,torch]'
	PYTHONPATH=. $(BIN)/python -m tests.attack.checked $(ARGS)

# Wheel and sdist, and the wheel tried in an empty environment.
dist: .venv/core
	$(PIP) build
	rm -rf dist
	$(BIN)/python -m build --quiet
	$(BIN)/python tools/try_wheel.py dist

# Compiles the kernels in place, if they are not those of the sources; CHECKED=1 with bounds checks. Where there
# is no compiler (exit code 3), one comes from PyPI.
kernels: .venv/core
	export SEQTRUTH_CHECKED="$(CHECKED)"; $(BIN)/python -m seqtruth.kernels.build || \
	  { test $$? -eq 3 && $(PIP) ziglang && $(BIN)/python -m seqtruth.kernels.build; }

.venv/core: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) -e .
	touch $@

clean:
	rm -rf .venv .venv-tools demo-output dist attack-output src/seqtruth/kernels/lib
