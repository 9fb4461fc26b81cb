# Every target makes what it needs: an environment in $(VENV), once, and what setup.cfg asks for.
#   make demo PYTHON=python3.12      with this Python (3.11 to 3.13) instead of the first one found
#   make test VENV=/tmp/env          in this environment instead of .venv
#   make test ARGS="-k cluster"      with these arguments for pytest (or demo, or the benchmarks)
#   make test WORKERS=0              in one process, not in one for each core; for a debugger

VENV ?= .venv
PYTHON ?=
WORKERS ?= auto
ARGS ?=

BIN := $(VENV)/bin
export TF_CPP_MIN_LOG_LEVEL ?= 3
export PYTHON VENV

SUPPORTED := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))

.PHONY: help demo test test-slow test-others test-in test-lab lint bench web gallery docs dist clean
.DELETE_ON_ERROR:

help:  ## this list
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## */\t/' | expand -t 12

demo: $(VENV)/.has-plot  ## three minutes: the best files for 16, 32 and 64 KiB on real data
	$(BIN)/kerascompact demo $(ARGS)

# Three runs: XLA never frees what it compiled, and in one run a worker would grow past 2 GB.
FIRST := tests/layers tests/ops
SECOND := tests/optimizers tests/training tests/models tests/compress tests/forms
PYTEST = $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile

test: $(VENV)/.has-test  ## all tests but the slow ones
ifeq ($(ARGS),)
	@status=0; \
	$(PYTEST) $(FIRST) || status=$$?; \
	$(PYTEST) $(SECOND) || status=$$?; \
	$(PYTEST) tests $(patsubst %,--ignore=%,$(FIRST) $(SECOND)) || status=$$?; \
	exit $$status
else
	$(PYTEST) $(ARGS)
endif

test-slow: $(VENV)/.has-test  ## the slow tests: long loops, entire notebooks, other processes
	$(PYTEST) -m slow $(ARGS)

OTHERS = tests/export/test_in_mediapipe.py tests/export/test_other_tools.py
test-others:  ## our files in MediaPipe, Netron, Model Explorer, litert-quantizer; in .venv-others
	$(MAKE) --no-print-directory .venv-others/.has-others VENV=.venv-others
	$(MAKE) --no-print-directory test-in VENV=.venv-others ARGS="-m slow $(OTHERS) $(ARGS)"

test-in:  # in an environment that is there
	$(PYTEST) $(ARGS)

test-lab: $(VENV)/.has-test  ## the tests of benchmarks/
	$(PYTEST) benchmarks/tests $(ARGS)

lint: $(VENV)/.has-lint  ## ruff, mypy, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.has-test  ## the benchmarks; ARGS chooses among them
	$(BIN)/python -m benchmarks.run $(ARGS)

gallery: $(VENV)/.has-plot  ## five trained files for the page of export/web, in about 20 minutes
	$(BIN)/python -m benchmarks.product.gallery $(ARGS)

web:  ## the page of export/web: its packages from npm, then checked in headless Chromium
	cd export/web && npm ci --silent --no-audit --no-fund && npm test

docs: $(VENV)/.has-docs  ## the site, into site/; every link is checked, and a wrong one is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict $(ARGS)

dist: $(VENV)/.has-release  ## the sdists and wheels of both packages, into dist/, checked
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/python -m build --outdir dist wheels/runtime
	$(BIN)/twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl

clean:  ## remove caches and builds (the environment stays: remove $(VENV) by hand)
	rm -rf build dist site *.egg-info wheels/*/build wheels/*/*.egg-info .coverage .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
	find kerascompact export tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# An extra of setup.cfg, installed. The stamp is older than setup.cfg after an edit: installed again.
$(VENV)/.has-%: setup.cfg pyproject.toml | $(VENV)/.made
	@echo "Installing kerascompact[$*] into $(VENV): some minutes the first time (2.5 GB)."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --prefer-binary -e ".[$*]"
	@touch $@

# The environment. An existing one is used, never emptied; a Python that cannot serve is passed over.
$(VENV)/.made:
	@set -eu; \
	if [ -e "$$VENV/bin/python" ] || [ -L "$$VENV/bin/python" ]; then \
	  if "$$VENV/bin/python" -c 'import pip; $(SUPPORTED)' >/dev/null 2>&1; \
	  then echo "Using $$VENV, $$("$$VENV/bin/python" --version)."; touch "$$VENV/.made"; exit 0; fi; \
	  echo "make: $$VENV holds no working Python 3.11 to 3.13 with pip." \
	    "Remove it, or name another folder: make VENV=..." >&2; \
	  exit 1; \
	fi; \
	try() { "$$1" -c '$(SUPPORTED)' >/dev/null 2>&1; }; \
	chosen=; lacking=; \
	if [ -n "$$PYTHON" ]; then set -- "$$PYTHON"; \
	else set -- python3.12 python3.11 python3.13 python3 python; fi; \
	for python in "$$@"; do \
	  try "$$python" || continue; \
	  if "$$python" -c 'import ensurepip, venv' >/dev/null 2>&1; \
	  then chosen=$$python; break; else lacking=$${lacking:-$$python}; fi; \
	done; \
	if [ -z "$$chosen" ] && [ -n "$$lacking" ]; then \
	  echo "make: $$lacking cannot make environments: its venv module lacks ensurepip." \
	    "On Debian and Ubuntu: sudo apt install" \
	    "python$$("$$lacking" -c 'import sys; print("%d.%d" % sys.version_info[:2])')-venv" >&2; \
	  exit 1; \
	elif [ -z "$$chosen" ]; then \
	  echo "make: no Python 3.11, 3.12 or 3.13 that runs (tried: $$*)." \
	    "Install one, or name it: make PYTHON=/path/to/python3.12" >&2; \
	  exit 1; \
	fi; \
	echo "Making $$VENV with $$("$$chosen" --version)."; \
	"$$chosen" -m venv "$$VENV"; \
	touch "$$VENV/.made"
