# Two commands do everything on a machine with python3, venv and make: `make demo` and `make test`.
PYTHON ?= python3
ARGS ?=
VENV := .venv
BIN := $(VENV)/bin
WORKERS := -n auto --dist loadgroup --max-worker-restart=0
# Installed: what the demo needs; and what tests, checks and the site need beside it.
RUNS := $(VENV)/.runs
READY := $(VENV)/.ready
PIP := $(BIN)/python -m pip install --no-compile --progress-bar on
# This package with extras: by uv, which unpacks on all cores; by pip where only pip is configured to find packages.
install = $(BIN)/uv pip install --system-certs --python $(BIN)/python -e '.[$(1)]' || PYTHONWARNINGS=ignore $(PIP) -e '.[$(1)]'
DEMO := demo,bags
TEST := $(DEMO),pinocchio,symbolic,coppeliasim,nengo,test,docs

# A ROS 2 installation of the shell's, or another environment's, must not leak into this one.
unexport PYTHONPATH PYTHONHOME AMENT_PREFIX_PATH LD_LIBRARY_PATH _ROS_WHEELS_BOOTSTRAP_COMPLETE
export ROS_PYTHON_CHECK_FIELDS ?= 1
export PIP_DISABLE_PIP_VERSION_CHECK = 1
ifdef PIP_CONSTRAINT
export UV_CONSTRAINT := $(PIP_CONSTRAINT)
endif

.PHONY: demo test campaign sweeps docs package api setup clean

demo: $(RUNS)
	@env -u ROS_PYTHON_CHECK_FIELDS $(BIN)/python scripts/arm_control demo $(ARGS)

test: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest $(WORKERS) --durations=10 $(ARGS)

campaign: $(READY)
	ARM_CONTROL_DRAFTS=off $(BIN)/python -m pytest $(WORKERS) --durations=10 -m campaign $(ARGS)

# Sweeps on Dask, an extra without which the suite skips their tests.
sweeps: $(READY)
	$(PIP) -e '.[sweep]'
	$(BIN)/python -m pytest test/sweeps $(ARGS)

docs: $(READY)
	$(BIN)/python docs/site/make_site.py site
	@echo "open site/index.html"

# A wheel and an sdist in out/dist, installed into an empty environment, in which the commands that need no extra run;
# with the extras of the README, what the README shows.
package:
	rm -rf out/dist out/empty
	test -x out/build/bin/python || $(PYTHON) -m venv out/build
	out/build/bin/python -m pip install --quiet build twine
	out/build/bin/python -m build --outdir out/dist .
	out/build/bin/python -m twine check --strict out/dist/*
	$(PYTHON) -m venv out/empty
	out/empty/bin/python -m pip install --quiet out/dist/*.whl
	du -sm out/empty
	cd out/empty && bin/arm-control --version && bin/arm-control check ur5 && bin/arm-control plan planar4_disc
	cd out/empty && bin/arm-control ik ur5 --position 0.4 0.1 0.4 --rpy 180 0 0 && bin/arm_control scenarios
	out/empty/bin/python -m pip install --quiet "$$(echo out/dist/*.whl)[demo,bags]"
	out/empty/bin/python .github/readme_lines.py

# Public names that callers of the last version would miss; nothing while there is no tag of one.
api:
	@test -x out/api/bin/griffe || $(PYTHON) -m venv out/api
	@out/api/bin/python -m pip install --quiet griffe==2.4.1
	@tag=$$(git describe --tags --abbrev=0 HEAD^ 2>/dev/null) || exit 0; \
	out/api/bin/griffe check arm_control --against $$tag --extensions docs/site/faces.py

setup: $(READY)

$(RUNS): setup.py pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing from PyPI into $(VENV), once: about 210 MB, a minute or two"
	@-$(PIP) --quiet uv
	@$(call install,$(DEMO))
	@touch $@

$(READY): $(RUNS)
	@echo "Installing what tests and the site need, too"
	@$(call install,$(TEST))
	@touch $@

clean:
	rm -rf $(VENV) build install log site *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
