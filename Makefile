# What can be done here: `make` lists it. Nothing but Go is needed; the tools are Go modules of
# tools/go.mod and are built on first use, and a database engine is found or installed by the
# product itself.

GO ?= go

# TESTFLAGS go to `go test`:  make test TESTFLAGS="-race -shuffle=on -count=2"
TESTFLAGS ?=
# TESTTIMEOUT bounds each test package.
TESTTIMEOUT ?= 20m
# FUZZTIME is how long `make fuzz` spends on each target.
FUZZTIME ?= 10s
# ARGS go to the command:  make demo ARGS=--json
ARGS ?=

TOOL := $(GO) tool -modfile=tools/go.mod

# Go refuses to stamp a build in a checkout that git cannot read, such as one of another user.
VCSFLAG := $(shell git rev-parse HEAD >/dev/null 2>&1 || echo -buildvcs=false)

# The folders that hold Go files, for gofumpt, without the engine's data in .holdfast/.
GOFOLDERS = $$(find . \( -name '.?*' -o -name node_modules \) -prune -o -name '*.go' -print | cut -d / -f 2 | sort -u)

.DEFAULT_GOAL := help
.PHONY: help run build test lint fmt fmt-check generate generate-check fuzz bench demo chaos audit cover clean ci

help: ## list the targets
	@echo 'Usage: make TARGET'
	@echo
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## build, then serve everything on a local engine (stop with Ctrl-C)
	@exec bin/holdfast dev $(ARGS)

build: ## build bin/holdfast
	$(GO) build $(VCSFLAG) -o bin/holdfast ./cmd/holdfast

test: ## run every test on a real engine (TESTFLAGS="-race -shuffle=on -count=2")
	$(GO) test -timeout $(TESTTIMEOUT) $(TESTFLAGS) ./...

lint: ## check format, style, mistakes and import arrows
	@for module in $$($(GO) list -m -f '{{if not (or .Main .Indirect)}}{{.Path}}{{end}}' all); do \
		grep -q "^| .$$module. |" docs/dependencies.md || { \
			echo "$$module: say in docs/dependencies.md why it is needed" >&2; exit 1; }; \
	done
	$(TOOL) golangci-lint run ./...

fmt: ## format the Go code
	$(TOOL) gofumpt -w $(GOFOLDERS)

fmt-check: ## list Go files that are not formatted, and fail if there are any
	@unformatted=$$($(TOOL) gofumpt -l $(GOFOLDERS)) || exit 1; \
	if [ -n "$$unformatted" ]; then \
		echo "$$unformatted"; \
		echo 'These files are not formatted: run make fmt.' >&2; \
		exit 1; \
	fi

generate: ## regenerate the typed SQL (sqlc) and the GraphQL server (gqlgen)
	@run=$$($(GO) list -m -f '{{.Version}}' github.com/99designs/gqlgen); \
	generate=$$($(GO) list -m -modfile=tools/go.mod -f '{{.Version}}' github.com/99designs/gqlgen); \
	if [ "$$run" != "$$generate" ]; then \
		echo "gqlgen is $$run in go.mod and $$generate in tools/go.mod: they must be the same" >&2; \
		exit 1; \
	fi
	$(TOOL) sqlc generate
	$(TOOL) gqlgen generate

generate-check: ## regenerate, and fail with a diff if generated code was out of date
	@GO='$(GO)' MAKE='$(MAKE)' bash tools/generate-check.sh

fuzz: ## fuzz every Fuzz function for FUZZTIME (10s)
	@GO='$(GO)' bash tools/fuzz.sh $(FUZZTIME)

bench: build ## print speed and memory on the embedded engine
	@exec bin/holdfast bench $(ARGS)

demo: build ## play the scenarios against a throw-away engine (ARGS=--json)
	@exec bin/holdfast demo $(ARGS)

chaos: build ## sell while processes are killed and the provider fails (ARGS="--seconds 60 --json")
	@exec bin/holdfast chaos $(ARGS)

audit: build ## check the invariants of HOLDFAST_DATABASE_URL, or of .holdfast/ (ARGS=--json)
	@exec bin/holdfast audit $(ARGS)

cover: ## run the tests and write bin/cover.html, generated code left out
	@mkdir -p bin
	$(GO) test -timeout $(TESTTIMEOUT) $(TESTFLAGS) -coverprofile=bin/cover.out \
		-coverpkg=$$($(GO) list ./... | grep -v -e /graph/generated -e /internal/dbsqlc | paste -s -d , -) ./...
	$(GO) tool cover -html=bin/cover.out -o bin/cover.html
	$(GO) tool cover -func=bin/cover.out | tail -n 1

clean: ## remove what the targets built (the data in .holdfast/ stays)
	rm -rf bin

ci: ## run what the CI runs
	@bash .ci/run
