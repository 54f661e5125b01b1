# The commands that the README names. Only Rust is needed; buf (for the protos) is fetched where Node is present.

CARGO ?= cargo
TOOLS := target/tools
BUF_VERSION := 1.75.0
BUF := $(TOOLS)/node_modules/.bin/buf

.PHONY: help run demo test format lint proto score tests bench

help:
	@echo "make run    build for release and serve on 127.0.0.1 (gRPC 50051, HTTP 9464), letters in ./data"
	@echo "make demo   a whole story in one command"
	@echo "make test   formatting, lints, protos, the corpus score and all tests"
	@echo "make bench  benchmarks of the core"

run:
	$(CARGO) build --release --locked --bin backstop
	target/release/backstop serve --data-dir data $(ARGS)

demo:
	$(CARGO) run --quiet --locked --bin backstop -- demo

# In this order: what fails fast first, and cargo's `test result` lines last.
test: format lint proto score tests

format:
	@$(CARGO) fmt --version >/dev/null 2>&1 || rustup component add rustfmt
	$(CARGO) fmt --all --check

lint:
	@$(CARGO) clippy --version >/dev/null 2>&1 || rustup component add clippy
	$(CARGO) clippy --locked --all-targets -- -D warnings

# The breaking-change check compares with the newest release; before the first one there is nothing to break.
proto:
	@if [ ! -x $(BUF) ] && command -v npm >/dev/null 2>&1; then \
		npm install --prefix $(TOOLS) --no-save --silent --no-fund --no-audit @bufbuild/buf@$(BUF_VERSION) \
			|| echo "buf could not be fetched"; \
	fi
	@if [ -x $(BUF) ]; then \
		$(BUF) lint || exit 1; \
		echo "buf lint: clean"; \
		release=$$(git describe --tags --abbrev=0 --match 'v*' 2>/dev/null); \
		if [ -n "$$release" ]; then $(BUF) breaking --against ".git#tag=$$release"; fi; \
	else \
		echo "buf lint: skipped (needs npm)"; \
	fi

score:
	$(CARGO) test --locked --quiet --test corpus -- --nocapture --test-threads 1

tests:
	$(CARGO) test --locked --no-fail-fast

bench:
	$(CARGO) bench --locked --bench core
