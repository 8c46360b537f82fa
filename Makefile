# SPDX-License-Identifier: Apache-2.0
# Everything here needs only a Go toolchain, unless a target says more.
.PHONY: build hub install man test test-short race vet lint fuzz cross purego bench bench-short bench-compare bench-large bench-peers bench-peers-large bench-pipeline bench-pipeline-quick bench-live bench-live-quick bench-merge intervals bench-results soak-live test-hub chaos-hub hub-model faults bounds batches papers papers-check papers-full captures ci dist dist-test spdx pictures bench-all hub-figures exporters readers bench-contest

# One static file, which needs no C library.
build:
	CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o flowdedup ./cmd/flowdedup

# The hub of several sensors, a module of its own: it has a NATS server inside.
hub:
	cd engine/cluster && CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o ../../flowdedup-hub ./cmd/flowdedup-hub

# The program, its man pages, and on Linux the units of systemd; DESTDIR goes before all of
# it, for packages.
PREFIX ?= /usr/local
install: build man
	install -D flowdedup $(DESTDIR)$(PREFIX)/bin/flowdedup
	for page in man/*.[17]; do \
		install -D -m 644 $$page $(DESTDIR)$(PREFIX)/share/man/man$${page##*.}/$${page#man/} || exit; \
	done
	if [ "$$(uname)" = Linux ]; then \
		mkdir -p $(DESTDIR)$(PREFIX)/lib/systemd/system || exit; \
		for unit in flowdedup@.service flowdedup-flows@.service; do \
			sed 's|/usr/local/bin/|$(PREFIX)/bin/|' cmd/flowdedup/contrib/$$unit >$(DESTDIR)$(PREFIX)/lib/systemd/system/$$unit || exit; \
		done; \
	fi

# A release of the last commit: programs, packages, images, recipes, checksums, in dist/
# (PLATFORM=linux/amd64 for one alone, and no recipes). dist-test makes it twice, compares, and installs and runs it in clean roots, of
# which systemd boots one: Linux, as root, with debootstrap, rpm, systemd-nspawn, qemu-user.
PLATFORM ?=
dist:
	go -C cmd/flowdedup/contrib/dist run . -root $(CURDIR) -out $(CURDIR)/dist -only '$(PLATFORM)'

dist-test: dist
	rm -rf dist-again && go -C cmd/flowdedup/contrib/dist run . -root $(CURDIR) -out $(CURDIR)/dist-again -only '$(PLATFORM)' >/dev/null
	FLOWDEDUP_DIST=$(CURDIR)/dist FLOWDEDUP_DIST_AGAIN=$(CURDIR)/dist-again go -C cmd/flowdedup/contrib/dist test -count=1 -timeout 1h -v .
	rm -rf dist-again

# Writes the line of the licence into sources that lack it.
spdx:
	go run ./bench/spdx

# Draws the manual's pictures of terminals again: Linux, as root, with mandoc, tshark, chromium.
pictures:
	cmd/flowdedup/doc/pages/pictures.sh

# Man pages from the commands' help and the manual, into man/.
man:
	go run ./cmd/flowdedup/doc/man man
	go -C engine/cluster run ./cmd/flowdedup-hub man > man/flowdedup-hub.1

test:
	go test ./...

# Without the longest statistical tests.
test-short:
	go test -short ./...

race:
	go test -race -timeout 2h ./...

purego:
	go test -tags purego ./asm/... ./layout/... ./engine/...

vet:
	go vet ./...

lint:
	test -z "$$(gofmt -l .)"
	go vet ./...
	go tool staticcheck ./...
	mkdir -p $(OUT) && go build -o $(OUT)/staticcheck honnef.co/go/tools/cmd/staticcheck
	cd engine/cluster && go vet ./... && ../../$(OUT)/staticcheck ./...

# Each fuzz target in turn, FUZZTIME each (10 minutes unless told otherwise).
FUZZTIME ?= 10m
fuzz:
	bench/fuzz.sh $(FUZZTIME)

# Everything on Linux for both CPUs, the offline commands on other systems.
cross:
	GOOS=linux GOARCH=amd64 go vet ./...
	GOOS=linux GOARCH=arm64 go vet ./...
	GOOS=darwin GOARCH=arm64 go vet ./...
	GOOS=windows GOARCH=amd64 go vet ./...

# Times for benchstat, in rounds, so that what is compared was measured at the same
# moments: bench takes four minutes, bench-peers ten. The large ones add filters of
# 512 MiB (peers: and of 128 MiB, in one round of about an hour). bench-results makes
# bench/RESULTS.md from all measurements; figures without new ones stay as they are.
# bench-short is a quick look at the kernels.
ROUNDS ?= 5
BENCH = go test -run '^$$' -benchtime 50ms -cpu 1
LARGEST = /memory=524288KiB
LARGE_PEERS = /memory=(131072|524288)KiB
OUT = bench/out
bench bench-large bench-peers bench-peers-large bench-pipeline bench-live: SHELL = /bin/bash -o pipefail

bench:
	mkdir -p $(OUT)
	for i in $$(seq $(ROUNDS)); do \
		$(BENCH) -bench . -skip '$(LARGEST)' ./asm/... ./layout ./engine/... ./capture/... || exit; \
	done | tee $(OUT)/bench.txt

# bench-compare runs the benchmarks of PACKAGES at revision OLD and in the working tree in
# turn, and shows with benchstat what differs: make bench-compare OLD=HEAD~1
# PACKAGES=./asm/digest WHICH=SumMessages.
PACKAGES ?= ./asm/... ./layout ./engine/... ./capture/...
WHICH ?= .
bench-compare:
	@test -n "$(OLD)" || { echo "OLD=REVISION is missing" >&2; exit 2; }
	bench/compare.sh -r $(ROUNDS) -b '$(WHICH)' -s '$(LARGEST)' $(OLD) -- $(PACKAGES)

bench-large:
	mkdir -p $(OUT)
	for i in $$(seq $(ROUNDS)); do \
		$(BENCH) -bench '$(LARGEST)' ./asm/line ./engine/... || exit; \
	done | tee $(OUT)/bench-large.txt

bench-short:
	$(BENCH) -bench . -skip '/memory=(16384|131072|524288)KiB' ./asm/...

bench-peers:
	mkdir -p $(OUT)
	cd bench/peers && for i in $$(seq $(ROUNDS)); do \
		$(BENCH) -bench . -skip '$(LARGE_PEERS)' . || exit; \
	done | tee ../../$(OUT)/peers.txt

bench-peers-large:
	mkdir -p $(OUT)
	cd bench/peers && $(BENCH) -timeout 2h -bench '$(LARGE_PEERS)' . | tee ../../$(OUT)/peers-large.txt

# bench-pipeline times whole commands beside cat, cp and other tools, on captures of
# up to 10 GB: Linux, about a quarter of an hour, with 17 GB of free memory (with less
# it leaves out the largest). It installs missing tools, if it is root and there is
# apt, or measures the others. PIPELINE can hold more arguments. bench-pipeline-quick only
# shows that it works.
bench-pipeline:
	mkdir -p $(OUT)
	bench/pipeline/run.sh -rounds $(ROUNDS) $(PIPELINE) | tee $(OUT)/pipeline.txt

bench-pipeline-quick:
	bench/pipeline/run.sh -quick

# bench-live measures receivers of live traffic: Linux, as root, about half an
# hour, in a network namespace of its own. LIVE can hold more arguments.
bench-live:
	mkdir -p $(OUT)
	bench/live/run.sh -rounds $(ROUNDS) $(LIVE) | tee $(OUT)/live.txt

bench-live-quick:
	bench/live/run.sh -quick $(LIVE)

# bench-contest compares programs that remove copies, and writes the section of RESULTS.md:
# ten minutes. CONTEST can hold more arguments, such as -tool 'NAME: COMMAND {in} {out}'.
bench-contest:
	bench/contest/run.sh -rounds $(ROUNDS) -page bench/RESULTS.md $(CONTEST)

# bench-all measures everything in RESULTS.md on one machine within twenty minutes: in few
# rounds, without inputs of 10 GB and some receivers. Linux, as root.
bench-all:
	$(MAKE) bench ROUNDS=2
	$(MAKE) bench-peers ROUNDS=1
	$(MAKE) bench-pipeline ROUNDS=3 PIPELINE='-largest 1000'
	$(MAKE) bench-live ROUNDS=2 LIVE='-skip tcpdump,dumpcap,keep-flow'
	$(MAKE) bench-results

# intervals checks the 95 % intervals of all approximate counts over longer streams, too: a
# quarter of an hour.
intervals:
	FLOWDEDUP_INTERVALS=long go test -count=1 -timeout 1h -run TestIntervals -v ./engine/distinct/multikey

# bench-merge unites the saved counts of 20 sensors of 10 million flows, with and without
# their overlap. It makes 1.1 GB of temporary files. Linux.
bench-merge:
	go run ./bench/merge
	go run ./bench/merge -overlap

# hub-model simulates a hub of 40 sites of 10 Gbit/s each, and draws the figure of the manual.
hub-model:
	go run ./bench/hubmodel -svg cmd/flowdedup/doc/hub-model.svg

# hub-figures redoes figures of the paper "One is Enough" over NATS, beside engine/paper: some
# minutes.
hub-figures:
	cd engine/cluster && FLOWDEDUP_FIGURES=../../../bench/papers/WIRE.md go test -run TestRedone -count 1 -timeout 1h ./paper

# test-hub runs all tests of the hub's module, those too that wait until leases end.
test-hub:
	cd engine/cluster && go test ./...

# chaos-hub runs a hub and four sensors in network namespaces for CHAOS, with a fault each
# 20 s. Linux, as root.
CHAOS ?= 10m
chaos-hub:
	cd engine/cluster && FLOWDEDUP_CHAOS=$(CHAOS) go test -run TestChaos -count 1 -timeout 2h -v .

# soak-live runs flowdedup live at half load for DURATION while things go wrong around
# it, and fails if the run does not survive: Linux, as root.
DURATION ?= 30m
soak-live:
	bench/live/soak.sh -duration $(DURATION)

# faults makes each system call of a dozen command lines fail once, and checks the
# result: Linux with strace, about a quarter of an hour. go test ./... tries a sample.
faults:
	FLOWDEDUP_FAULTS=all go test -count=1 -timeout 2h ./bench/faults

# bounds gives every command every hostile input in a cgroup of 256 MiB: Linux, an hour.
# go test ./... gives smaller ones to some. FLOWDEDUP_SHARED names a folder whose hostile/ has more.
bounds:
	FLOWDEDUP_BOUNDS=all go test -count=1 -timeout 4h -v ./bench/bounds

# batches compares every output of every command for inputs of every kind, with batches
# that end anywhere: two minutes. go test ./... tries a third of that.
batches:
	FLOWDEDUP_BATCHES=all go test -count=1 -timeout 1h -run BatchEnds ./cmd/flowdedup/internal/cli

# exporters gives flows the records of every exporter that is installed: softflowd, pmacct,
# Open vSwitch. Linux, as root: a minute.
exporters:
	FLOWDEDUP_EXPORTERS=all go test -count=1 -run TestFlows ./cmd/flowdedup/internal/flows

# readers judges what is written for each reader, by tshark, tcptrace, argus and ndpiReader, from
# all captures of testdata: minutes. go test ./... takes some of them.
readers:
	FLOWDEDUP_READERS=all go test -count=1 -timeout 1h -run TestReaders -v ./bench/analyzers

bench-results:
	cd bench/peers && go run ./report -o ../RESULTS.md -charts ../charts $(addprefix ../../,$(sort $(wildcard $(OUT)/*.txt)))

# Makes the papers' tables and figures again: minutes.
papers:
	go run ./bench/papers $(PAPERS) -markdown bench/papers/RESULTS.md -charts bench/papers/charts

# Fails where RESULTS.md or a chart has other numbers than the code makes: all tables.
papers-check:
	go run ./bench/papers -check bench/papers/RESULTS.md -charts bench/papers/charts

# papers-full makes Tables 1 to 5 of p1 at their printed sizes: some three hours of one
# core, with 3 GB of memory for each. Finished rows stay in full.json, so it may be
# interrupted, writes what there is, and goes on from there the next time.
papers-full:
	mkdir -p $(OUT)
	go build -o $(OUT)/papers ./bench/papers
	$(OUT)/papers -full -only p1.table1,p1.table2,p1.table3,p1.table4,p1.table5 -counts bench/papers/full.json -markdown bench/papers/RESULTS-full.md

# Makes the captures of testdata/pcaps again: Linux, as root, in network namespaces.
captures:
	bench/router/rebuild.sh testdata/pcaps

ci:
	bash .ci/run
