# Two commands matter to a newcomer: `make demo` and `make test`. Both make .venv and are quick the second time.
.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: help install demo test check unit bench clean
help: ## list the commands
	@grep -hE '^[a-z0-9-]+:.*?## ' $(MAKEFILE_LIST) | awk -F':.*?## ' '{printf "  make %-16s %s\n", $$1, $$2}'

$(STAMP): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

install: $(STAMP) ## make .venv with everything the tests need

demo: $(STAMP) ## see Slackwater decide: the product's main job on a small built-in example
	@$(BIN)/slackwater demo

test: check unit ## everything that needs nothing but Python: lint, types, import contracts, tests, coverage

check: $(STAMP) ## format, lint, spelling, types and import contracts
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/codespell
	@$(BIN)/mypy
	@$(BIN)/pyright --warnings
	@$(BIN)/lint-imports --no-logo

unit: $(STAMP) ## tests and branch coverage
	@$(BIN)/python -m pytest -q -m "not lab and not bench" --cov --cov-report=term

bench: $(STAMP) ## speed of the core against tests/performance/bounds.toml
	@$(BIN)/python -m pytest -q -p no:randomly -m bench tests/performance

clean: ## remove what the commands above made
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .coverage site build dist
