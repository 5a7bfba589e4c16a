# The front door. `make` builds build/waker, `make test` runs every test, `make demo` shows it working.
# CMake does the work; CMakePresets.json lists the variants. Options pass through, for example:
#   make test PRESET=dev            the tests under the address and undefined-behaviour sanitizers
#   make MUJOCO_DIR=/opt/mujoco-3   another MuJoCo than the one that set-up fetches; `system` for the system's
PRESET ?= release
BUILD_release := build
BUILD ?= $(or $(BUILD_$(PRESET)),build-$(PRESET))
CMAKE_FLAGS := -B $(BUILD) $(if $(MUJOCO_DIR),-DMUJOCO_DIR=$(if $(filter system,$(MUJOCO_DIR)),system,$(abspath $(MUJOCO_DIR)))) \
    $(if $(WAKER_CUDA),-DWAKER_CUDA=$(WAKER_CUDA))
# More than cores: tests wait for the disk a third of their time.
CTEST_FLAGS ?= --output-on-failure -j$(shell expr $$(nproc) + 2)

.PHONY: all build build-tests fuzz pictures setup test demo pictures-demo kill-test power-test bench bundle wheel site install uninstall package format format-check lint coverage clean

all: setup-build build

# The program alone: it needs nothing of the tests.
build:
	@cmake --preset $(PRESET) $(CMAKE_FLAGS) --log-level=WARNING
	@cmake --build $(BUILD) --target waker

build-tests:
	@cmake --preset $(PRESET) $(CMAKE_FLAGS) -DWAKER_TESTS=ON --log-level=WARNING
	@cmake --build $(BUILD)

setup-%:
	@tools/setup $*

setup:
	@tools/setup build test lint coverage

test: setup-test build-tests
	@ctest --test-dir $(BUILD) $(CTEST_FLAGS)

# DEMO_STEPS=5000 makes it a quick look.
demo: all
	@tools/demo $(BUILD)/waker $(DEMO_STEPS)

pictures-demo: all
	@tools/pictures-demo $(BUILD)/waker

# 200 kills at random moments of train, of a population, adapt, finetune and card each, 100 of sweep; CI makes 6 and 3.
kill-test: setup-test build-tests
	@cd $(BUILD)/tests && WAKER_KILLS=$(or $(KILLS),200) ./test_train_kills

# 200 simulated power losses of train, twice, of a population, adapt, finetune and a sweep each, and 2,000 of a card, in both
# orders; CI makes 12 and 120.
power-test: setup-test build-tests
	@cd $(BUILD)/tests && WAKER_POWER_STATES=$(or $(STATES),200) ./test_train_power_loss

bench: all
	@$(BUILD)/waker bench env --domain all

fuzz: setup-build
	@tools/fuzz/run all -runs=1000000

# The documentation as pages with search: out/site/index.html.
site:
	@tools/site

pictures: all
	@tools/pictures $(BUILD)/waker

PREFIX ?= /usr/local
# Program, libraries, headers, manual pages, completions, examples. DESTDIR goes before the prefix.
install: setup-build
	@cmake --preset $(PRESET) $(CMAKE_FLAGS) -DCMAKE_INSTALL_PREFIX=$(abspath $(PREFIX)) --log-level=WARNING
	@cmake --build $(BUILD) --target installable
	@DESTDIR=$(DESTDIR) tools/install $(BUILD)

uninstall:
	@DESTDIR=$(DESTDIR) tools/uninstall $(abspath $(PREFIX))

# A Debian package: dist/waker_VERSION_ARCHITECTURE.deb
package: setup-build setup-package
	@cmake --preset $(PRESET) $(CMAKE_FLAGS) -DCMAKE_INSTALL_PREFIX=/usr --log-level=WARNING
	@cmake --build $(BUILD) --target installable
	@cd $(BUILD) && cpack -G DEB

# WAKER_CUDA=ON packs the CUDA backend too, but not cuBLAS, which is many times the size of all else: the backend loads the
# machine's own.
bundle: setup-build
	@cmake --preset release -B build-bundle -DWAKER_CUDA=$(or $(WAKER_CUDA),OFF) -DWAKER_TESTS=OFF --log-level=WARNING
	@cmake --build build-bundle --target waker
	@tools/bundle build-bundle

# dist/waker-VERSION-py3-none-manylinux_*.whl; docs/python.md. WAKER_CUDA=ON as for the bundle.
wheel: setup-build
	@cmake --preset release -B build-bundle -DWAKER_CUDA=$(or $(WAKER_CUDA),OFF) -DWAKER_TESTS=OFF --log-level=WARNING
	@cmake --build build-bundle --target waker libwaker_shared
	@tools/wheel build-bundle

format: setup-lint
	@git ls-files -co --exclude-standard '*.c' '*.h' '*.cu' '*.cuh' | xargs clang-format -i

format-check: setup-lint
	@git ls-files -co --exclude-standard '*.c' '*.h' '*.cu' '*.cuh' | xargs clang-format --dry-run -Werror

lint: setup-lint format-check build
	@tools/lint $(BUILD)

coverage: setup-coverage setup-test
	@$(MAKE) --no-print-directory build-tests PRESET=coverage
	@find build-coverage -name '*.gcda' -delete
	@ctest --test-dir build-coverage $(CTEST_FLAGS)
	@tools/coverage build-coverage

clean:
	rm -rf build build-* dist out
