# kq: `make demo` shows it, `make test` tests it. Both install what they need.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Not `NAME`: some shells export that for themselves.
CLUSTER ?= dev
PLANE := PYTHONPATH=tests $(BIN)/python -m controlplane
PYTEST := $(BIN)/python -m pytest

.DEFAULT_GOAL := help
.PHONY: help install demo demo-cluster test check soak bench bench-peers bench-decisions bench-crowd profile build up down status lock clean

help: ## what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

install: $(VENV)/.installed ## the environment in .venv

$(VENV)/.installed: requirements.txt pyproject.toml
	@echo "installing into $(VENV) (a minute the first time)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-compile --require-hashes -r requirements.txt
	@$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-deps --no-build-isolation -e .
	@touch $@

# Flags of the show: `make demo ARGS="--jobs 60 --seed 2"`.
ARGS ?=

demo: install ## what kq does, in a quarter of a minute, on a simulated cluster; ARGS="--jobs 60"
	@$(BIN)/kq demo $(ARGS)

demo-cluster: install ## two jobs wait their turn on a real control plane; ends by itself
	@PYTHONPATH=tests:. $(BIN)/python -m demo

test: install ## all tests; builds what is missing: the control plane first, operators meanwhile
	@$(PLANE) build
	$(PYTEST) -q -n 3 --dist loadfile

check: install ## lint, format, types, layers, manifests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	MYPYPATH=tests $(BIN)/mypy --strict -p controlplane -p demo -p bench
	$(BIN)/lint-imports
	$(PYTEST) -q tests/manifests tests/test_layout.py

# How long, and from which seed on.
MINUTES ?= 10
SEED ?= 1

soak: install ## random histories with faults on the simulator: MINUTES=10 or COUNT=10000, SEED=1
	@PYTHONPATH=tests:tests/e2e:tests/sim:. $(BIN)/python -m soak --minutes $(MINUTES) \
	  $(if $(COUNT),--count $(COUNT)) --seed $(SEED)

# Names of loads with commas between them, or nothing for all; JSON names a file.
ONLY ?=
JSON ?=
N ?= 1000

bench: install ## how fast, how dear: N=1000 JSON=file ONLY=burst,places (10 minutes for all)
	@PYTHONPATH=tests:. $(BIN)/python -m bench --jobs $(N) \
	  $(if $(ONLY),--only $(ONLY)) $(if $(JSON),--json $(JSON))

bench-peers: install ## Kueue and kq under burst and places: N=1000 JSON=file (6 minutes; 4 more once)
	@PYTHONPATH=tests:. $(BIN)/python -m bench.peers --jobs $(N) $(if $(JSON),--json $(JSON))

bench-decisions: install ## how long decisions take, without an API server (2 minutes)
	@PYTHONPATH=tests:. $(BIN)/python -m bench.cycles
	@PYTHONPATH=tests:. $(BIN)/python -m bench.victims
	@PYTHONPATH=tests:. $(BIN)/python -m bench.explanations

bench-crowd: install ## a manager started on N=100000 waiting units: memory, start, rest, JSON=file (5 minutes)
	@PYTHONPATH=tests:. $(BIN)/python -m bench.crowd $(if $(filter file,$(origin N)),,--units $(N)) \
	  $(if $(JSON),--json $(JSON))

profile: install ## where manager and webhook spend processor time in a burst of N
	@PYTHONPATH=tests:. $(BIN)/python -m bench.profile --jobs $(N)

# Real controllers of jobs beside it: OPERATORS=training,mpi,jobset,trainer,ray,argo,spark
OPERATORS ?=

build: install ## the control plane's programs, into the cache: OPERATORS=ray,argo
	@$(PLANE) build --operators=$(OPERATORS)

up: install ## a bare control plane on this machine; prints the lines to copy: OPERATORS=ray,argo
	@$(PLANE) up $(CLUSTER) --operators=$(OPERATORS)

down: install ## end it and all that runs beside it
	@$(PLANE) down $(CLUSTER)

status: install ## whether it runs
	@$(PLANE) status $(CLUSTER)

lock: install ## pin the requirements anew
	@$(BIN)/python -m pip install --quiet uv==0.13.9
	$(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-header \
	  --no-emit-index-url --group dev pyproject.toml -o requirements.txt

clean: ## remove the environment (the cache of built programs stays)
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
