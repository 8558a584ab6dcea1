# Two commands are all there is to know: `make up` and `make test`. The rest is what they are made of.
#   VENV=path        where the virtual environment goes        PYTHON=python3.12   which Python makes it
#   TORCH_INDEX=url  an index with another build of torch       ARGS="--no-measure" handed to `perfdb up`
#   YES=1            `make clean` does not ask

SHELL := /bin/bash
PYTHON ?= python3
VENV ?= .venv
TORCH_INDEX ?=
ARGS ?=
YES ?=

bin := $(VENV)/bin
pip := "$(bin)/python" -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
torch_index := $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX))

# The stamp is written last, so an interrupted installation is simply done again; all paths may hold spaces.
define ensure_installed
set -e; \
if [ "$(VENV)/$$stamp" -nt pyproject.toml ] && [ "$(VENV)/$$stamp" -nt constraints.txt ]; then exit 0; fi; \
"$(PYTHON)" -c 'import sys; sys.exit(0 if (3, 11) <= sys.version_info < (3, 14) else "perfdb needs Python 3.11 to 3.13, but $(PYTHON) is " + sys.version.split()[0] + "; name another: make up PYTHON=python3.12")'; \
if ! "$(bin)/python" -m pip --version >/dev/null 2>&1; then \
    echo "creating $(VENV)"; \
    "$(PYTHON)" -m venv --clear "$(VENV)" || { echo "python cannot make a virtual environment: install its venv module (Debian: apt install python3-venv), then run make again" >&2; exit 1; }; \
fi; \
echo "installing perfdb and its pinned dependencies into $(VENV); the first time takes some minutes (torch is large)"; \
$(pip) $(torch_index) torch; \
$(pip) $(torch_index) --editable ".[$$extras]"; \
touch "$(VENV)/.installed" "$(VENV)/$$stamp"
endef

.PHONY: help up test check lint types imports install install-dev clean

help: ## say what each target does
	@grep -E '^[a-z-]+:.*## ' Makefile | sed -E 's/:.*## /\t/'

up: install ## install, start PostgreSQL, measure this machine, judge, open the dashboard (Ctrl-C stops it)
	@exec "$(bin)/perfdb" up $(ARGS)

test: install-dev ## install, then lint, type-check, check imports and run every test
	@$(MAKE) --no-print-directory check

check: lint types imports
	"$(bin)/python" -m pytest

lint:
	"$(bin)/ruff" format --check .
	"$(bin)/ruff" check .

types:
	"$(bin)/mypy"

imports:
	"$(bin)/lint-imports"

install: ## make the virtual environment and install perfdb into it
	@extras=embedded,runner,torch,dashboard; stamp=.installed; $(call ensure_installed)

install-dev: ## the same, with what the tests need
	@extras=embedded,runner,torch,dashboard,dev; stamp=.installed-dev; $(call ensure_installed)

# Only what the targets above and the tools they run made in this checkout; the state folder is `perfdb purge`'s.
clean: ## remove the virtual environment and the caches of this checkout (asks; YES=1 does not)
	@set -e; \
	made=(); \
	for path in "$(VENV)" .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis build dist perfdb.egg-info; do \
	    if [ -e "$$path" ]; then made+=("$$path"); fi; \
	done; \
	if [ -e "$(VENV)" ] && [ ! -e "$(VENV)/pyvenv.cfg" ]; then \
	    echo "$(VENV) is no virtual environment, so it is not removed; name the right one: make clean VENV=path" >&2; exit 1; \
	fi; \
	while IFS= read -r -d '' path; do made+=("$$path"); done < <(find . -name __pycache__ -type d \
	    -not -path "./.git/*" -not -path "./$(VENV)/*" -print0); \
	if [ "$${#made[@]}" -eq 0 ]; then echo "nothing to remove"; exit 0; fi; \
	echo "this would remove, from $$PWD:"; \
	du -sh -- "$${made[@]}" | grep -v '/__pycache__$$' || true; \
	echo "and $$(printf '%s\n' "$${made[@]}" | grep -c '/__pycache__$$' || true) __pycache__ folders; $$(du -shc -- "$${made[@]}" | tail -1 | cut -f1) in all"; \
	if [ "$(YES)" != 1 ]; then \
	    if [ ! -t 0 ]; then echo "there is no terminal to ask at; run: make clean YES=1" >&2; exit 1; fi; \
	    read -r -p "Remove it? [y/N] " answer; \
	    case "$$answer" in y|Y|yes) ;; *) echo "nothing was removed"; exit 1;; esac; \
	fi; \
	rm -rf -- "$${made[@]}"; \
	echo "removed; your runs and database are untouched (perfdb purge removes those)"
