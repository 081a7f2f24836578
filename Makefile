# Everything a newcomer, a developer and CI run. `make help` lists it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.DEFAULT_GOAL := help
.PHONY: help demo test check bench docs clean

help:  ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):[^#]*## /  make \1\t/'

# One stamp per set of packages: a second run finds it newer than pyproject.toml and does nothing.
$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade "pip>=25.1"

$(VENV)/.core: pyproject.toml | $(VENV)/bin/python
	$(PIP) install --editable ".[cli]"
	@touch $@

$(VENV)/.test: pyproject.toml | $(VENV)/bin/python
	$(PIP) install --editable ".[all]" --group test
	@touch $@ $(VENV)/.core

$(VENV)/.check: pyproject.toml $(VENV)/.test
	$(PIP) install --group check
	@touch $@

$(VENV)/.docs: pyproject.toml $(VENV)/.test
	$(PIP) install --group docs
	@touch $@

demo: $(VENV)/.core  ## mercer fit and mercer predict on a real table
	@$(BIN)/python examples/demo.py

test: $(VENV)/.test  ## run the tests, with branch coverage
	SCIPY_ARRAY_API=1 OPENBLAS_NUM_THREADS=1 HYPOTHESIS_PROFILE=ci $(BIN)/python -m pytest -n 2 --dist loadgroup --cov --cov-report=term
	
check: $(VENV)/.check  ## lint, types, import contract, docstring examples
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m pytest --doctest-modules src --doctest-glob='*.rst' --doctest-glob='README.md' docs README.md

bench: $(VENV)/.test  ## measure against the peers; prints ratios
	$(BIN)/python benchmarks/ground_floor.py
	$(BIN)/python benchmarks/selection.py
	$(BIN)/python benchmarks/plan.py
	$(BIN)/python benchmarks/objects.py
	$(BIN)/python benchmarks/bad_tables.py
	$(BIN)/python benchmarks/digits.py
	$(BIN)/python benchmarks/streaming.py speed memory linear

docs: $(VENV)/.docs  ## build the site into docs/_build/html
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

clean:  ## remove the environment and everything built
	rm -rf $(VENV) docs/_build docs/gallery .coverage* .mypy_cache .ruff_cache .pytest_cache .hypothesis dist
