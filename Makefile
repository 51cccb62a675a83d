# `make` lists the targets. They use .venv and change nothing outside of this folder.
# Requires GNU make 3.81 or newer (macOS ships 3.81).

PYTHON ?= python3
# `make demo DIR=~/notes` indexes your own folder; without DIR, it indexes the folder samples/.
DIR ?=
# More words for pytest: `make test ARGS="-k socket -x"`.
ARGS ?=
VERSION ?= 1.0

# Test files run in parallel, the longest first; `make test PARALLEL=` runs them one after the other. `make test` often
# waits for daemons, so it has more processes than two cores; each takes 2.5 seconds to collect the tests.
PARALLEL ?= --numprocesses=$(PROCESSES) --dist=loadfile --no-loadscope-reorder
PROCESSES = 8
test-fast: PROCESSES = $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)

BIN := .venv/bin

export DIR

# Comments stay, and versions for some Pythons only, which must be set by hand.
define KEEP_MARKED
NR == FNR { if (/^#/ || /;/) { print; kept[$$1] = 1 }; next } !($$1 in kept)
endef
export KEEP_MARKED

.DEFAULT_GOAL := help
.PHONY: help demo test test-fast test-slow lint format freeze docs site man editors dist installed bench pins wheels audit clean distclean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

demo: .venv/.run ## Index a folder and search it, in temporary directories [DIR=~/notes]
	@$(BIN)/python scripts/demo.py "$$DIR"

test: .venv/.test tests/__pycache__ ## Run the tests that guard behaviour [ARGS="-k name"]
	@$(BIN)/python -m pytest $(PARALLEL) -m "not stress" --durations=40 $(ARGS)

test-fast: .venv/.test ## Run the quick tests: a fifth of a second of processor time each, at most
	@$(BIN)/python -m pytest $(PARALLEL) -m "not slow and not stress" $(ARGS)

test-slow: .venv/.test ## Run what `make test` leaves out: kills, faults of the machine, soak, many clients, whole corpora
	@$(BIN)/python -m pytest $(PARALLEL) -m "stress or hypothesis" --hypothesis-profile=thorough --durations=40 $(ARGS)

lint: .venv/.test ## Check style, types, import contracts and the generated docs
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy
	$(BIN)/python -m mypy scripts
	$(BIN)/lint-imports
	$(BIN)/python scripts/generate_docs.py --check

format: .venv/.test ## Format the code
	$(BIN)/python -m ruff check --fix .
	$(BIN)/python -m ruff format .

freeze: .venv/.test ## At a release: write what its protocol promises, for the test of compatibility [VERSION=1.0]
	@$(BIN)/python -m tests.protocol.compatibility $(VERSION)

docs: .venv/.run ## Write the pages of docs/ that are generated from the code
	$(BIN)/python scripts/generate_docs.py

site: .venv/.test ## Build docs/ as a site with search, in build/site
	$(BIN)/python -m sphinx -W --keep-going -q -d build/doctrees docs build/site

man: .venv/.run ## Write the man pages and completion scripts to build/
	$(BIN)/python scripts/make_man.py build

dist: .venv/.test ## Build sdist and wheel, twice, and check that they are the same and complete
	@$(BIN)/python scripts/make_dist.py

installed: dist ## Install the wheel in empty environments, and search with it
	@$(BIN)/python scripts/check_install.py

editors: ## Write the VS Code extension to build/, to be installed from there
	@$(PYTHON) scripts/make_vsix.py build

bench: .venv/.bench ## Measure search quality on a folder in BEIR layout: DIR=/path/to/scifact
	@test -n "$$DIR" || { echo "DIR is missing: run make bench DIR=FOLDER (with corpus.jsonl, queries.jsonl and qrels.tsv)" >&2; exit 1; }
	@$(BIN)/gnoctl bench "$$DIR" $(ARGS)

pins: .venv/.test ## Write the installed versions to constraints.txt
	@$(BIN)/python -m pip list --format freeze --exclude-editable > .venv/frozen
	@awk -F '==' "$$KEEP_MARKED" constraints.txt .venv/frozen > .venv/pins
	@cp .venv/pins constraints.txt

wheels: .venv/.test ## Check that each version in constraints.txt has a wheel for each system and Python
	@$(BIN)/python scripts/check_wheels.py

audit: .venv/.run ## Check the versions in constraints.txt against the advisory databases
	@$(BIN)/python scripts/audit.py

clean: ## Remove caches and build results
	rm -rf build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -not -path './.venv/*' -prune -exec rm -rf {} +

distclean: clean ## Also remove .venv
	rm -rf .venv

# The stamps are touched by the script, when everything is in place.
.venv/.run: pyproject.toml constraints.txt
	@$(PYTHON) scripts/make_venv.py

.venv/.bench: pyproject.toml constraints.txt
	@$(PYTHON) scripts/make_venv.py --extra bench

# In a new clone: what else each of the processes would do, 9 seconds each.
tests/__pycache__: .venv/.test
	@test -d $@ || $(BIN)/python -m pytest --collect-only -q > .venv/collected || true

.venv/.test: pyproject.toml constraints.txt
	@$(PYTHON) scripts/make_venv.py --extra test
