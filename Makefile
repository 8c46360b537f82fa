# Everything here runs with a plain Go toolchain; what else a target needs is
# said beside it.
.PHONY: build test test-short race vet lint fuzz cross purego bench papers captures ci

build:
	go build -o flowdedup ./cmd/flowdedup

test:
	go test ./...

# Without the longest statistical tests.
test-short:
	go test -short ./...

race:
	go test -race ./...

purego:
	go test -tags purego ./asm/... ./layout/... ./engine/...

vet:
	go vet ./...

lint:
	test -z "$$(gofmt -l .)"
	go vet ./...
	go tool staticcheck ./...

# Each fuzz target in turn, FUZZTIME each (10 minutes unless told otherwise).
FUZZTIME ?= 10m
fuzz:
	bench/fuzz.sh $(FUZZTIME)

# linux on both CPUs, the offline commands elsewhere.
cross:
	GOOS=linux GOARCH=amd64 go vet ./...
	GOOS=linux GOARCH=arm64 go vet ./...
	GOOS=darwin GOARCH=arm64 go vet ./...
	GOOS=windows GOARCH=amd64 go vet ./...

bench:
	go test -run '^$$' -bench . -benchmem ./asm/... ./layout/... ./engine/... ./capture/...

# Makes the papers' tables and figures anew: minutes; with PAPERS=-full hours.
papers:
	go run ./bench/papers $(PAPERS) -markdown bench/papers/RESULTS.md -charts bench/papers/charts -json bench/papers/results.json

# Makes the captures of testdata/pcaps anew: Linux, as root, in network
# namespaces of its own.
captures:
	bench/router/rebuild.sh testdata/pcaps

ci:
	bash .ci/run
