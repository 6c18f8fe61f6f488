# Three commands: make demo, make test, make lint (and make bench). All work in .venv, which they make
# themselves.
PYTHON ?= python3
EXTRAS ?=
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
ifeq ($(EXTRAS),all)
GROUPS := test,dev,torch,transformers,weights,annotators,spark
else
GROUPS := test
endif

.PHONY: demo test lint bench clean

demo: .venv/core
	$(BIN)/seqtruth demo -o demo-output

test: .venv/core
	$(PIP) -e '.[$(GROUPS)]'
	$(BIN)/python -m pytest

lint: .venv/core
	$(PIP) -e '.[dev]'
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

# SIZES=1e5,1e6 THREADS=1,2 BUDGET=900 QUICK=1 ONLY=ours-ds,crowdkit-ds PARTS=tables,first-use,apart
bench: .venv/core
	$(PIP) -e '.[bench,spark]'
	$(BIN)/python -m bench

.venv/core: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) -e .
	touch $@

clean:
	rm -rf .venv demo-output
