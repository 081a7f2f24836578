# Everything a newcomer, a developer and CI run. `make help` lists it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.DEFAULT_GOAL := help
.PHONY: help demo lab test test-fast cover soak messages size check examples minimum wheel bench docs clean

# A part of the tests in which every dependency and extra is used, for the environments of `minimum` and `wheel`.
QUICK := tests/test_import.py tests/models/test_models.py::test_the_file_is_a_safetensors_file tests/cli/test_fitting.py \
	tests/streaming/test_blocks.py tests/streaming/test_blocks_kinds.py tests/data/test_samples.py tests/displays \
	tests/tables/test_encoder.py tests/tables/test_encoder_frames.py tests/cli/test_running_report.py \
	tests/estimators/test_ridge.py tests/estimators/test_nystroem_dask.py tests/lab/test_answers.py tests/lab/test_files_uploads.py \
	tests/lab/test_server.py::test_the_page_and_its_files_are_there_with_a_strict_policy

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## /  make \1\t/' | expand -t 20

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

$(VENV)/.bench: pyproject.toml $(VENV)/.test
	$(PIP) install --group bench
	@touch $@

$(VENV)/.docs: pyproject.toml $(VENV)/.test
	$(PIP) install --group docs
	@touch $@

demo: $(VENV)/.core  ## mercer fit, predict and score on a bundled table
	@$(BIN)/mercer demo "$$(mktemp -d)"

lab: $(VENV)/.test  ## open the page to play with kernels; Ctrl-C ends it
	@$(BIN)/mercer lab

# What every run of the tests has in common: one thread of BLAS for each of two processes.
PYTEST := SCIPY_ARRAY_API=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadgroup

test: $(VENV)/.test  ## run the tests; only some: make test ARGS="-k nested"
	$(PYTEST) --durations=10 $(ARGS)

# Tests that open a browser trace little Python and take long.
BROWSER := tests/lab/test_server_page.py tests/lab/test_files_static.py tests/report/test_rendering_browser.py
cover: $(VENV)/.test  ## run the tests without drawn cases, with branch coverage
	$(PYTEST) -m "not soak" --cov --cov-report=term $(BROWSER:%=--ignore=%)

test-fast: $(VENV)/.test  ## run the quick tests; only what failed last: make test-fast ARGS=--lf
	$(PYTEST) -m "not slow" $(ARGS)

# Rounds of ten times as many drawn cases as in `make test`, and of every estimator in scikit-learn's checks, each round
# from a seed of its own. `make soak SEED=123` repeats the round of that seed.
MINUTES ?= 30
soak: $(VENV)/.test  ## draw many more cases, from fresh seeds, for 30 minutes
	@end=$$(($$(date +%s) + 60 * $(MINUTES))); failed=; \
	while seed=$(or $(SEED),$$(shuf -i 1-999999999 -n 1)); echo "seed $$seed"; \
		MERCER_SOAK=$$seed $(PYTEST) -m soak --hypothesis-seed=$$seed $(ARGS) || failed="$$failed $$seed"; \
		[ -z "$(SEED)" ] && [ $$(date +%s) -lt $$end ]; do :; done; \
	[ -z "$$failed" ] || { echo "Failed; repeat with: make soak SEED=N for N in$$failed"; exit 1; }

messages: $(VENV)/.test  ## write the snapshot of all messages that the tests compare with
	$(BIN)/python docs/messages.py > tests/golden/messages.txt

size: $(VENV)/bin/python  ## print how large the sources are, beside their budget
	@$(BIN)/python tests/size.py

examples: $(VENV)/.test  ## run the examples in docstrings, docs and README
	$(BIN)/python -m pytest --doctest-modules src --doctest-glob='*.rst' --doctest-glob='README.md' docs README.md

check: $(VENV)/.check  ## lint, types, import contract, examples
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(MAKE) examples

# An environment with the lowest version of everything that pyproject.toml declares. Old releases warn of what newer ones of
# their own dependencies deprecate, which is not ours to mend.
.venv-minimum/.done: pyproject.toml .ci/floors.py
	$(PYTHON) -m venv --clear .venv-minimum
	$(subst $(VENV),.venv-minimum,$(PIP)) install --upgrade "pip>=25.1"
	$(PYTHON) .ci/floors.py > .venv-minimum/floors.txt
	$(subst $(VENV),.venv-minimum,$(PIP)) install --editable ".[all]" --group test --constraint .venv-minimum/floors.txt
	@touch $@

minimum: .venv-minimum/.done  ## a quick part of the tests on the declared minimum versions
	OPENBLAS_NUM_THREADS=1 .venv-minimum/bin/python -m pytest -n 2 --dist loadgroup -W ignore::DeprecationWarning $(QUICK)

wheel:  ## build sdist and wheel; a quick part of the tests on the installed wheel
	rm -rf dist
	$(PYTHON) -m venv --clear .venv-wheel
	$(subst $(VENV),.venv-wheel,$(PIP)) install --upgrade "pip>=25.1" hatchling
	.venv-wheel/bin/python -m hatchling build --target sdist
	$(subst $(VENV),.venv-wheel,$(PIP)) wheel --no-deps --wheel-dir dist dist/mercer-*.tar.gz
	$(subst $(VENV),.venv-wheel,$(PIP)) install twine
	.venv-wheel/bin/python -m twine check --strict dist/*
	$(subst $(VENV),.venv-wheel,$(PIP)) install "mercer[all] @ file://$$(ls $(CURDIR)/dist/mercer-*.whl)" --group test
	.venv-wheel/bin/python -P -c "import mercer, sys; sys.exit('site-packages' not in mercer.__file__)"
	.venv-wheel/bin/mercer --help
	OPENBLAS_NUM_THREADS=1 .venv-wheel/bin/python -P -m pytest -n 2 --dist loadgroup $(QUICK)

bench: $(VENV)/.bench  ## measure against the peers; prints ratios
	$(BIN)/python benchmarks/ground_floor.py
	$(BIN)/python benchmarks/selection.py
	$(BIN)/python benchmarks/plan.py
	$(BIN)/python benchmarks/objects.py
	$(BIN)/python benchmarks/bad_tables.py
	$(BIN)/python benchmarks/digits.py
	$(BIN)/python benchmarks/streaming.py speed memory linear
	$(BIN)/python benchmarks/many_rows.py --tables kin8nm --rows 2000
	$(BIN)/python benchmarks/threads.py
	$(BIN)/python benchmarks/auto.py --rows 200 1000 --draws 2

docs: $(VENV)/.docs  ## build the site into docs/_build/html, and check its links
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html
	$(BIN)/python -m sphinx -W --keep-going -q -b linkcheck docs docs/_build/links

clean:  ## remove the environment and everything built
	rm -rf $(VENV) .venv-minimum .venv-wheel docs/_build docs/gallery .coverage* .mypy_cache .ruff_cache .pytest_cache .hypothesis dist
