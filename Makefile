# `make` lists the targets. Everything happens in .venv; nothing outside of this folder is needed or changed.
# Made for GNU make 3.81 and newer (macOS ships 3.81).

PYTHON ?= python3
# `make demo DIR=~/notes` indexes a folder of your own; without it the sample that ships here.
DIR ?=
# More words for pytest: `make test ARGS="-k socket -x"`.
ARGS ?=

# Test files run side by side; `make test PARALLEL=` runs them one after the other.
PARALLEL ?= --numprocesses=auto --maxprocesses=4 --dist=loadfile

BIN := .venv/bin

export DIR

.DEFAULT_GOAL := help
.PHONY: help demo test test-fast lint format docs bench pins audit clean distclean

help: ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

demo: .venv/.run ## Index a folder and search it, on throw-away directories [DIR=~/notes]
	@$(BIN)/python scripts/demo.py "$$DIR"

test: .venv/.test ## The whole suite [ARGS="-k name"]
	@$(BIN)/python -m pytest $(PARALLEL) $(ARGS)

test-fast: .venv/.test ## The tests of a developer's loop, about a minute on two cores
	@$(BIN)/python -m pytest $(PARALLEL) -m "not slow and not corpora" $(ARGS)

lint: .venv/.test ## Style, types, layers, and whether the generated docs are current
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy
	$(BIN)/python -m mypy scripts
	$(BIN)/lint-imports
	$(BIN)/python scripts/generate_docs.py --check

format: .venv/.test ## Put the code into its form
	$(BIN)/python -m ruff check --fix .
	$(BIN)/python -m ruff format .

docs: .venv/.run ## Write the pages of docs/ that are made from the code
	$(BIN)/python scripts/generate_docs.py

bench: .venv/.run ## Measure search on a folder in BEIR layout: DIR=/path/to/scifact
	@test -n "$$DIR" || { echo "say which: make bench DIR=FOLDER (with corpus.jsonl, queries.jsonl and qrels.tsv)" >&2; exit 1; }
	@$(BIN)/gnoctl bench "$$DIR" $(ARGS)

pins: .venv/.test ## Write down the versions that are installed, for constraints.txt
	@sed '/^[^#]/d' constraints.txt > .venv/pins
	@$(BIN)/python -m pip freeze --exclude-editable >> .venv/pins
	@cp .venv/pins constraints.txt

audit: .venv/.run ## Ask the advisory databases about the versions in constraints.txt
	@$(BIN)/python scripts/audit.py

clean: ## Remove caches and build results
	rm -rf build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -not -path './.venv/*' -prune -exec rm -rf {} +

distclean: clean ## Remove .venv as well
	rm -rf .venv

# The stamps are touched by the script, when everything is in place.
.venv/.run: pyproject.toml constraints.txt
	@$(PYTHON) scripts/make_venv.py

.venv/.test: pyproject.toml constraints.txt
	@$(PYTHON) scripts/make_venv.py --extra test
