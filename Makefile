# SPDX-License-Identifier: MIT
# The front door.  The build itself is CMake's; this only knows the commands.

WERROR ?= ON
JOBS   ?= $(shell nproc 2>/dev/null || echo 2)
RELEASE = build/release
OPTIONS = -DHEIST_WERROR=$(WERROR)

.PHONY: help all run test bench check test-all check-deep install uninstall \
        clean

# The first target: `make` alone explains itself.
help:
	@echo 'make run               build, then run the demonstration'
	@echo 'make all               build all, tests and examples too'
	@echo 'make test              build, then run the quick tests (minutes)'
	@echo 'make bench [ONLY=a,b]  benchmarks beside their peers'
	@echo 'make check             format, lints, symbols, headers (a minute)'
	@echo 'make test-all [STAGE=name,name]'
	@echo '                       sanitizers, valgrind, aarch64, long stress'
	@echo 'make check-deep        the proof as far as it goes (hours)'
	@echo 'make install [PREFIX=/usr/local] [DESTDIR=]'
	@echo 'make uninstall         what the last install put there'
	@echo 'make clean             remove build/'

all:
	@scripts/build $(RELEASE) $(OPTIONS)

run:
	@scripts/build $(RELEASE) --target heist_tool $(OPTIONS)
	@$(RELEASE)/bin/heist demo $(ARGS)

# HEIST_STRESS_SCALE is the share of the full stress, in percent.
test: all
	@cd $(RELEASE) && HEIST_STRESS_SCALE=$${HEIST_STRESS_SCALE:-20} \
	    ctest -j $(JOBS) --output-on-failure --no-tests=error

# A peer that cannot be installed is skipped, not missed.  A name that is wrong
# is told before anything is installed or built, if Python is there to do it.
bench:
	@! command -v python3 >/dev/null || bench/run --check-names --only '$(ONLY)'
	@scripts/setup bench || echo 'bench: without what is missing'
	@scripts/build build/bench-build $(OPTIONS) -DHEIST_BENCH=ON -DHEIST_TESTS=OFF
	@bench/run --only '$(ONLY)'

check:
	@scripts/check

test-all:
	@scripts/test-all '$(STAGE)'

# What it finds out stands in docs/proof.md.
check-deep:
	@HEIST_DEEP=1 scripts/test-all '$(STAGE)'
	@tools/proof-table --write

# By the environment: a prefix may contain blanks.
export PREFIX DESTDIR
install:
	@scripts/install

uninstall:
	@scripts/install --remove

clean:
	rm -rf build
