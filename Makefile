# The commands that the README names. Only Rust is needed; buf (for the protos) is fetched where Node is present.

CARGO ?= cargo
TOOLS := target/tools
BUF_VERSION := 1.75.0
CARGO_FUZZ_VERSION := 0.13.2
# How long each fuzzer runs, in seconds.
FUZZ_SECONDS ?= 15
BUF := $(TOOLS)/node_modules/.bin/buf

.PHONY: help run demo test format lint proto score fuzz tests bench

help:
	@echo "make run    build for release and serve on 127.0.0.1 (gRPC 50051, HTTP 9464), letters in ./data"
	@echo "make demo   a whole story in one command"
	@echo "make test   formatting, lints, protos, the corpus score, short fuzzing and all tests"
	@echo "make fuzz   fuzz the reading of failures, FUZZ_SECONDS=$(FUZZ_SECONDS) for each target"
	@echo "make bench  benchmarks of the core"

run:
	$(CARGO) build --release --locked --bin backstop
	target/release/backstop serve --data-dir data $(ARGS)

demo:
	$(CARGO) run --quiet --locked --bin backstop -- demo

# In this order: what fails fast first, and cargo's `test result` lines last.
test: format lint proto score fuzz tests

format:
	@$(CARGO) fmt --version >/dev/null 2>&1 || rustup component add rustfmt
	$(CARGO) fmt --all --check
	$(CARGO) fmt --manifest-path fuzz/Cargo.toml --check

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

# No sanitizer: the project has no unsafe code, and without one a stable compiler does.
fuzz:
	@[ -x $(TOOLS)/bin/cargo-fuzz ] || $(CARGO) install --quiet --locked --root $(TOOLS) --target-dir target/tools-build \
		--version $(CARGO_FUZZ_VERSION) cargo-fuzz
	@for target in text json waits; do \
		echo "fuzzing $$target for $(FUZZ_SECONDS) s"; \
		PATH="$(CURDIR)/$(TOOLS)/bin:$$PATH" $(CARGO) fuzz run --sanitizer none --dev --target-dir target/fuzz $$target \
			-- -max_total_time=$(FUZZ_SECONDS) -max_len=65536 -timeout=5 -rss_limit_mb=4096 -verbosity=0 || exit 1; \
	done

tests:
	$(CARGO) test --locked --no-fail-fast

bench:
	$(CARGO) bench --locked --bench core
