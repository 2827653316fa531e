# The short commands. Each downloads missing parts (tools/setup), builds, and runs. A repeated
# command takes seconds. They use plain CMake: docs/building.md.
.DEFAULT_GOAL := help
PREFIX ?= /usr/local
.PHONY: help run test check build install bench gpu-check clean

help:
	@echo "make run     build and serve the sample video as a camera; ARGS=\"--frames 500\" stops by itself"
	@echo "make test    build and run all tests; TESTS=quick leaves out those that take minutes,"
	@echo "               TESTS=all also runs tests that passed before with the same inputs"
	@echo "make check   format, spelling, lint, all tests, sanitizers, clang-tidy"
	@echo "make build   build everything that make run needs, and no more"
	@echo "make install PREFIX=/usr/local   build it, and put it there with the libraries that it needs"
	@echo "make bench   build and run the benchmarks: their figures land in build/release/benchmarks"
	@echo "make gpu-check   pack the GPU tests and benchmark for a machine that has a GPU"
	@echo "make clean   remove build/; what was downloaded stays in .deps/"
	@echo
	@echo "make alone only shows this, because the others install packages and compile for minutes."
	@echo "Variables, presets and folders: docs/building.md"

build:
	@tools/setup run
	@tools/build release millrace

install: build
	@tools/install "$(PREFIX)"

run: build
	@exec tools/foreground build/release/service/millrace serve --config samples/millrace.yaml $(ARGS)

test:
	@tools/setup test
	@tools/build release --tests
	@tools/run-tests release $(addprefix --,$(filter quick all,$(TESTS))) --second-try

check:
	@tools/setup check
	@tools/check

bench:
	@tools/setup test
	@tools/build release --tests bench

gpu-check:
	@tools/setup test
	@tools/gpu-check

clean:
	rm -rf build
