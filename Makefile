# Two commands matter to a newcomer: `make demo` and `make test`. Both make .venv and are quick the second time.
.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
BASE := .venv/.base
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
# Bytecode that is kept saves every process of the tests from compiling them anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help install demo test deep quick light check lint types pyright contracts unit search search-simulator walk soak soak-lab faults kills tools bench bench-simulator bench-extender bench-lab bench-starts league autoscaler frameworks lab lab-down lab-test lab-build e2e e2e-kind kind-image crds chart image package docs clean fuzz requirements audit
help: ## list the commands
	@grep -hE '^[a-z0-9-]+:.*?## ' $(MAKEFILE_LIST) | awk -F':.*?## ' '{printf "  make %-16s %s\n", $$1, $$2}'

# What a user has; the demo needs no more. Bytecode is made of what is used, when it is used: half of it never is.
$(BASE): pyproject.toml constraints.txt
	@echo "Installing what the demo needs into .venv: about a minute, only the first time."
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(INSTALL) --no-compile -e .
	@touch $@

# The rest goes into the same .venv; the base need not be installed before it.
$(STAMP): pyproject.toml constraints.txt
	@echo "Installing everything the tests need into .venv: about two minutes, only the first time."
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(INSTALL) -e '.[dev]'
	@touch $(BASE) $@

install: $(STAMP) ## make .venv with everything the tests need

demo: $(BASE) ## see Slackwater decide: the product's main job on a small built-in example
	@$(BIN)/slackwater demo

# Checks go beside the tests, so that no core waits.
CHECKS := lint types contracts
test: $(STAMP) ## everything that needs nothing but Python: lint, types, import contracts, tests but the deep ones; COVERAGE=1 plays these too and counts branches, as CI does
	@$(MAKE) --no-print-directory -j2 unit $(CHECKS)

quick: $(STAMP) ## while you work: check, and the tests that take no time (under a minute on two cores)
	@$(MAKE) --no-print-directory -j2 light $(CHECKS)

light: $(STAMP)
	@HYPOTHESIS_PROFILE=dev $(BIN)/python -m pytest -q --forks $(MORE) -m "not slow and not deep and not lab and not bench and not frameworks and not package"

check: $(STAMP) ## format, lint, spelling, types by mypy and by pyright, import contracts
	@$(MAKE) --no-print-directory -j2 --output-sync=target $(CHECKS) pyright

lint: $(STAMP)
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/codespell

types: $(STAMP)
	@$(BIN)/mypy

pyright: $(STAMP)
	@$(BIN)/pyright --warnings

contracts: $(STAMP)
	@$(BIN)/lint-imports --no-logo

# Tests are collected once, then played in several processes (tests/support/forks.py). One more than there are cores: some
# tests wait for a server or a browser.
PROCESSES = $(shell $(BIN)/python -c 'import os; print((os.cpu_count() or 1) + 1)')
PYTEST = $(BIN)/python -m pytest -q --forks $(PROCESSES)
# The tests of make quick compute little: most of their time is a second here and there until a program is up or a limit is over.
MORE = $(shell $(BIN)/python -c 'import os; print(2 * (os.cpu_count() or 1) + 1)')
# Branches are counted where every submission is judged, and where COVERAGE=1 is set: the tracer takes about half as long again.
COVERAGE ?= $(CI)
# Percent that CI refuses to go below: what it is on a machine without helm, browser and traces, less one for what is drawn at random.
LEAST := 93
COUNTED := --cov --cov-report=term --cov-fail-under=$(LEAST)
unit: $(STAMP) ## tests, in one process more than there are cores; the slowest are named, and COVERAGE=1 plays all and counts branches
	@$(PYTEST) -m "$(if $(COVERAGE),,not deep and )not lab and not bench and not frameworks and not package" --durations=25 $(if $(COVERAGE),$(COUNTED))
	@$(if $(COVERAGE),,echo "coverage: not counted (COVERAGE=1 make test, and every submission, does)")

DEEP = $(shell grep :: tests/deep.txt | cut -d: -f1 | sort -u)
deep: $(STAMP) ## the long tests of tests/deep.txt, which make test leaves out; every submission plays them
	@$(PYTEST) -m deep $(DEEP)

WORLDS ?= 1000
search: $(STAMP) ## play WORLDS random worlds beside the stock scheduler, with WILD=1 wild ones; stopped and started again it goes on
	@PYTHONPATH=tests $(BIN)/python -m support.search --worlds $(WORLDS) $(if $(WILD),--wild)

search-simulator: $(STAMP) ## play WORLDS random small worlds under every policy of the simulator; stopped and started again it goes on
	@PYTHONPATH=tests $(BIN)/python -m support.simsearch --worlds $(WORLDS)

walk: $(STAMP) ## every value of every field of our custom resources, then SEEDS of changes, each compared with a fresh start
	@PYTHONPATH=tests $(BIN)/python -m support.walk --seeds $(or $(SEEDS),100)

soak: $(STAMP) ## HOURS (144) of churn in process, with restarts, no samples for an hour a day and clocks set wrong; it resumes
	@PYTHONPATH=tests $(BIN)/python -m support.soak --hours $(or $(HOURS),144) $(if $(RATE),--rate $(RATE)) $(if $(RESTARTS),--restarts $(RESTARTS))

soak-lab: lab-build ## MINUTES (60) of churn on a lab at the highest rate it holds: memory of each program, objects in etcd, ledger and cluster
	@PYTHONPATH=tests $(BIN)/python -m support.soak.lab --minutes $(or $(MINUTES),60)

faults: lab-build ## SEEDS (20) of faults between our programs and a lab's API server: kills, refusals, bad watches; it resumes
	@PYTHONPATH=tests $(BIN)/python -m support.lab.faultwalk --seeds $(or $(SEEDS),20)

kills: lab-build ## operator and extender killed after each of their writes in turn, on a lab; SEEDS (1) of bad watches; it resumes
	@PYTHONPATH=tests $(BIN)/python -m support.lab.killwalk --seeds $(or $(SEEDS),1)

tools: $(STAMP) ## fetch what tests of chart and pages need beyond Python (helm, Chromium, Prometheus), where possible
	@$(BIN)/python -m slackwater_lab tools

bench: $(STAMP) ## speed of the core against tests/performance/bounds.toml
	@$(BIN)/python -m pytest -q -s -p no:randomly -m bench tests/performance/test_estimate.py tests/performance/test_placement.py tests/performance/test_gatekeeping.py

bench-simulator: $(STAMP) ## speed of the simulator (CPU time; real traces where ../shared/traces is)
	@$(BIN)/python -m pytest -q -s -p no:randomly -m bench tests/performance/test_simulator.py

bench-extender: $(STAMP) ## latency of the extender beside a do-nothing one, memory and start-up of a large cluster
	@$(BIN)/python tests/performance/bench_extender.py

bench-lab: lab-build ## scheduling rate on a real control plane, plain and ours side by side
	@$(BIN)/python tests/performance/bench_lab.py

bench-starts: lab-build ## how often starts on a lab lay inside the intervals told (WORKLOAD, NODES, SCALE, SEED, LIMIT; a quarter of an hour)
	@PYTHONPATH=tests $(BIN)/python tests/performance/bench_starts.py "$(or $(WORKLOAD),gen:hour?apps=150)" --nodes $(or $(NODES),6x16c64Gi) --scale $(or $(SCALE),10) --seed $(or $(SEED),10) --limit $(or $(LIMIT),900)

LEAGUE := $(or $(RESULTS),.league)
league: lab-build ## the same jobs under several schedulers, then docs/league.md (hours; WORKLOADS, SCHEDULERS, ROUNDS, SIZE; resumes)
	@$(BIN)/python -m slackwater_lab league --workloads $(or $(WORKLOADS),all) --schedulers $(or $(SCHEDULERS),all) --rounds $(or $(ROUNDS),3) --size $(or $(SIZE),1) --results $(LEAGUE)
	@$(BIN)/python docs/scripts/league.py $(LEAGUE) --note "$(NOTE)"

autoscaler: lab-build ## Karpenter in the lab: its scenarios, then machine-seconds and completion beside the stock scheduler (ROUNDS)
	@$(BIN)/python -m slackwater_lab autoscaler --rounds 0
	@$(BIN)/python -m pytest -q -p no:randomly -m frameworks tests/e2e/test_autoscaler.py
	@$(BIN)/python -m slackwater_lab autoscaler --rounds $(or $(ROUNDS),1)

lab: $(STAMP) ## build (cached) and start a real control plane on this machine, with Slackwater in it
	@$(BIN)/python -m slackwater_lab up

lab-down: $(STAMP) ## stop exactly what `make lab` started
	@$(BIN)/python -m slackwater_lab down

lab-test: lab-build ## every test that needs the lab's control plane
	@$(BIN)/python -m pytest -q -m lab

lab-build: $(STAMP) ## build the lab's programs (cached; about 17 minutes without a cache); KUBERNETES=1.35.8 for another version
	@$(BIN)/python -m slackwater_lab packages
	@SLACKWATER_LAB_VERSION=$(KUBERNETES) $(BIN)/python -m slackwater_lab build

frameworks: $(STAMP) ## run real Spark, Ray, Dask, Flink, Argo, JobSet, MPIJobs, TrainJobs and Jobs through it on real nodes (root; more than an hour; images and operators are built once)
	@$(BIN)/python -m slackwater_lab packages
	@$(BIN)/python -m slackwater_lab build
	@$(BIN)/python -m slackwater_lab frameworks
	@$(BIN)/python -m pytest -q -p no:randomly -m frameworks tests/frameworks

e2e: lab-build ## play every scenario through the whole system on a private lab
	@$(BIN)/python -m pytest -q -p no:randomly -m lab tests/e2e

e2e-kind: lab-build ## the same scenarios on a kind cluster (needs Docker)
	@$(BIN)/python -m slackwater_lab build kind prometheus
	@tests/e2e/kind.sh

kind-image: $(STAMP) ## a kind node image for where no image registry answers (needs root, Docker, debootstrap)
	@lab/kind/image.sh

fuzz: $(STAMP) ## mutated objects through operator and extender: OBJECTS=1000000 takes about 20 minutes, and resumes
	@cd tests && ../$(BIN)/python -m fuzz $(if $(SEED),--seed $(SEED),--objects $(or $(OBJECTS),100000) $(if $(SECONDS),--seconds $(SECONDS)))

crds: $(STAMP) ## write the chart's custom resources and admission policies anew from their models
	@$(BIN)/python -m slackwater_cluster.customresources helm/slackwater/crds
	@$(BIN)/python -m slackwater_cluster.admissionpolicies helm/slackwater/files

chart: crds ## write the chart's generated parts anew: additions, schema, page of values, dashboards
	@$(BIN)/python helm/additions.py
	@$(BIN)/python helm/schema.py
	@$(BIN)/python helm/reference.py
	@$(BIN)/python helm/dashboards.py

requirements: $(STAMP) ## write image/*.txt anew: what the image installs, with hashes (asks the package index)
	@$(BIN)/python -m slackwater_lab.programs.requirements

audit: ## whether an advisory is known for a version that the image installs (asks the package index)
	@$(PYTHON) image/audit.py

bom: ## write dist/bom.cdx.json: what the image installs, as a bill of materials (CycloneDX)
	@mkdir -p dist && $(PYTHON) image/bom.py > dist/bom.cdx.json

image: ## build the image (needs Docker)
	docker build -t slackwater:$$(sed -n 's/^__version__ = "\(.*\)"/\1/p' core/slackwater/__init__.py) .

package: $(STAMP) ## build wheel, source archive and chart into dist/, check them, use them in an empty environment, and push the chart to a registry here
	@$(INSTALL) -e '.[release]'
	@$(BIN)/python -m slackwater_lab.programs.artefacts
	@$(BIN)/python -m slackwater_lab build crane || true  # without Go the push is not tried out, and the tests say so
	@$(BIN)/python -m pytest -q -p no:randomly -m package tests/package

docs: $(STAMP) ## build the documentation into site/, refusing broken links
	@$(INSTALL) -e '.[docs]'
	@$(BIN)/python docs/scripts/reference.py
	@$(BIN)/mkdocs build --strict --quiet

clean: ## remove what the commands above made
	rm -rf .venv .ruff_cache .pytest_cache .import_linter_cache .coverage site build dist
