#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs one suite of tests; without a name go test ./..., which has a sample of most others.
#
# short: without the longest statistical tests.
# purego: asm, layout and engine without assembly.
# cross: vets everything for the other systems and CPUs, from sources: a minute, and nothing is compiled for them.
# hub: all tests of the hub's module, with those that wait until leases end.
# chaos: a hub and four sensors in network namespaces for CHAOS (10m), with a fault each 20 s, rings and other versions among them, and an external server away in each stage. Linux, as root.
# soak: flowdedup live at half load for DURATION (30m) while things go wrong around it. Linux, as root.
# steady: flowdedup live at a million packets a second for DURATION (1h), with an account of each packet. Linux, as root.
# faults: each system call of a dozen command lines fails once. Linux with strace, a quarter of an hour.
# bounds: every command has every hostile input in a cgroup of 256 MiB, and those of FLOWDEDUP_SHARED/hostile. Linux, an hour.
# batches: every output of every command, for inputs of every kind, with batches that end anywhere: two minutes.
# exporters: records of softflowd, pmacct and Open vSwitch, as far as installed. Linux, as root, a minute.
# readers: tshark, tcptrace, argus and ndpiReader judge what is written from all captures of testdata: minutes.
# instructions: a command takes no more instructions a packet than its budget, on arm64 and with AVX2. Linux with qemu-user and cc, a minute.
# arm64: boots a kernel for arm64 in qemu-system, and runs the tests of live capture there. Debian with qemu-user and qemu-system-arm, minutes.
# streams: flow records of 6,000 flows that random exporters report, and of all pairs of timeouts: two minutes.
# intervals: the 95 % intervals of all approximate counts over longer streams: a quarter of an hour.
# lookups: false copies of all-different packets, over LOOKUPS (1e11) look-ups of whole fingerprints and a tenth of cut ones, in a full filter and in a usual one: two hours of one core, and progress is printed.
# references: the hub's slices agree with engine/paper's filters, event by event, over EVENTS (10000000) for each layout, while slices move and are killed: an hour or two.
# figures: redoes figures of the paper "One is Enough" over NATS, in bench/papers/WIRE.md: minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
case ${1:-all} in
all) go test ./... ;;
short) go test -short ./... ;;
purego) go test -tags purego ./asm/... ./layout/... ./engine/... ;;
cross)
	vet=$PWD/bench/out/vet
	go -C cmd/flowdedup/contrib/dist build -o "$vet" ./vet
	# Only kernels and their memory differ between the CPUs of a system. In browsers only the
	# command runs.
	while read -r target packages; do
		echo "$target"
		GOOS=${target%/*} GOARCH=${target#*/} xargs "$vet" <<<"$packages"
	done <<-'TARGETS'
		linux/386 ./...
		darwin/arm64 ./...
		windows/amd64 ./...
		linux/arm64 ./asm/... ./layout
		darwin/amd64 ./asm/... ./layout
		js/wasm ./cmd/flowdedup/...
	TARGETS
	;;
hub) go -C engine/cluster test -timeout 1h ./... ;;
chaos) FLOWDEDUP_CHAOS=${CHAOS:-10m} go -C engine/cluster test -run 'TestChaos|TestServerStages' -count 1 -timeout 2h -v . ;;
soak | steady)
	bin=$(mktemp -d)
	trap 'rm -rf "$bin"' EXIT
	go build -o "$bin/" ./bench/live/soak ./cmd/flowdedup
	args=(-duration "${DURATION:-30m}")
	[ "$1" = soak ] || args=(-duration "${DURATION:-1h}" -rate 1000000 -steady)
	PATH="$bin:$PATH" soak "${args[@]}"
	;;
faults) FLOWDEDUP_FAULTS=all go test -count=1 -timeout 2h ./bench/faults ;;
bounds) FLOWDEDUP_BOUNDS=all go test -count=1 -timeout 4h -v ./bench/bounds ;;
batches) FLOWDEDUP_BATCHES=all go test -count=1 -timeout 1h -run BatchEnds ./cmd/flowdedup/internal/... ;;
exporters) FLOWDEDUP_EXPORTERS=all go test -count=1 -run TestFlows ./cmd/flowdedup/internal/... ;;
readers) FLOWDEDUP_READERS=all go test -count=1 -timeout 1h -run 'TestReaders|TestWiresharkRouter' -v ./bench/analyzers ;;
instructions) FLOWDEDUP_INSTRUCTIONS=all go test -count=1 -v ./bench/instructions ;;
arm64) bench/arm64/live.sh ;;
streams) FLOWDEDUP_STREAMS=long go test -count=1 -run 'TestTimeouts|TestStreams' -v ./capture/records/match ;;
intervals) FLOWDEDUP_INTERVALS=long go test -count=1 -timeout 1h -run TestIntervals -v ./engine/distinct/... ;;
lookups) FLOWDEDUP_LOOKUPS=${LOOKUPS:-1e11} go test -count=1 -run TestTimedLookups -timeout 24h -v ./bench ;;
references) FLOWDEDUP_EVENTS=${EVENTS:-10000000} go -C engine/cluster test -run '^(TestReferences|TestGrowth)$' -count 1 -timeout 12h -v ./chain ;;
figures) FLOWDEDUP_FIGURES=../../../bench/papers/WIRE.md go -C engine/cluster test -run TestRedone -count 1 -timeout 3h ./paper ;;
*)
	echo "no suite $1; there are:" >&2
	sed -nE 's/^# ([a-z-]+: .*)/  \1/p' "$0" >&2
	exit 2
	;;
esac
