#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures one suite, in ROUNDS (5), so that what is compared was measured at the same
# moments. Without a name: kernels and engines, four minutes. Results are in bench/out.
#
# short: a quick look at the kernels.
# large: filters of 512 MiB, too.
# compare: PACKAGES and the benchmarks WHICH at revision OLD and in the working tree in turn, by benchstat.
# peers: other libraries, ten minutes.
# peers-large: other libraries with filters of 128 and 512 MiB, an hour.
# pipeline: whole commands beside cat, cp and other tools, on up to 10 GB: Linux, a quarter of an hour, 17 GB of free memory (with less it leaves out the largest). As root it installs missing tools by apt. ARGS holds more flags, such as -quick.
# paths: flowdedup's options beside plain dedup and distinct, on 200 MB: Linux, a minute, into RESULTS.md. ARGS holds more flags, such as -quick.
# levels: what the levels of the kernels of lines buy in whole commands: amd64 with AVX-512, two minutes.
# flows: flow records, read, written and received, beside nfcapd, nfdump and goflow2's decoder: Linux, ten minutes, into RESULTS.md. As root it installs missing tools by apt. ARGS holds more flags, such as -quick.
# live: receivers of live traffic, in a network namespace: Linux, as root, half an hour. ARGS holds more flags, such as -quick.
# hub: a hub and its sensors, at 20,000 packets/s and as fast as they go: Linux, as root, a minute.
# contest: programs that remove copies, ten minutes, counts into RESULTS.md. ARGS holds more flags, such as -tool 'NAME: COMMAND {in} {out}'.
# merge: unites the saved counts of 20 sensors of 10 million flows, with and without overlap, by 1.1 GB of files: Linux.
# all: the CPU's section of RESULTS.md, in one go of half an hour, in few rounds: Linux, as root. PARTS names the suites in it (contest pipeline live kernels peers); a section has no others.
# results: makes that section and its chart once more from bench/out/all.txt.
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${ROUNDS:-5}
packages=(./asm/... ./layout ./engine/... ./capture/...)
largest=/memory=524288KiB
largePeers='/memory=(131072|524288)KiB'
out=$PWD/bench/out
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
mkdir -p "$out"
export PATH="$bin:$PATH"

# origin prints where and when results are made, for the report.
origin() {
	echo "commit: $(git describe --always --dirty --abbrev=8)"
	echo "date: $(date -u +%F)"
	# Virtual machines name different processors alike, so the model is in the name.
	LC_ALL=C lscpu | awk -F': +' '$1 == "Model name" { n = $2 } $1 == "CPU family" { f = ", family " $2 } $1 == "Model" { m = ", model " $2 } END { print "cpu-model: " n f m }'
	echo "system: $(go env GOOS)/$(go env GOARCH)"
	echo "threads: $(nproc)"
	echo "kernel: $(uname -r)"
}

# need installs programs that are missing, PROGRAM:PACKAGE each, if that is possible.
need() {
	local one missing=()
	for one in "$@"; do
		command -v "${one%:*}" >/dev/null || missing+=("${one#*:}")
	done
	[ ${#missing[@]} -eq 0 ] ||
		{ apt-get update && apt-get install -y --no-install-recommends "${missing[@]}"; } >&2 ||
		echo "cannot install ${missing[*]}" >&2
}

# programs builds flowdedup, the other programs that are measured, and those named.
programs() {
	go build -o "$bin/" ./cmd/flowdedup "$@"
	(cd bench/peers && go build -o "$bin/" ./gopackets ./goflow2)
}

# baseline builds bench/baseline/NAME.c, which needs a C compiler for x86-64.
baseline() {
	cc -O3 -march=native -pthread -o "$bin/baseline-$1" "bench/baseline/$1.c" || echo "cannot compile $1.c" >&2
}

# measure runs benchmarks in a module so many times.
measure() {
	local module=$1 times=$2
	shift 2
	for _ in $(seq "$times"); do
		go -C "$module" test -run '^$' -benchtime 50ms -cpu 1 "$@"
	done
}

kernels() { measure . "$1" -bench . -skip "$largest" "${packages[@]}"; }
peers() { measure bench/peers "$1" -bench . -skip "$largePeers" .; }
pipeline() {
	need editcap:wireshark-common tshark:tshark tcpdump:tcpdump nfpcapd:nfdump nfdump:nfdump
	programs ./bench/pipeline ./bench/workload/cmd/genworkload
	baseline file
	command pipeline "$@"
}
paths() {
	need lz4:lz4
	programs ./bench/pipeline ./bench/workload/cmd/genworkload
	command pipeline -paths "$@"
}
flows() {
	need nfcapd:nfdump sfcapd:nfdump-sflow
	programs ./bench/pipeline
	command pipeline -flows "$@"
}
live() {
	need tcpdump:tcpdump dumpcap:wireshark-common
	programs ./bench/live
	go build -o "$bin/baseline-ring" ./bench/baseline/ring
	baseline live
	command live "$@"
}
contest() {
	programs ./bench/contest
	local revision tmp=${TMPDIR:-}
	revision=$(git log -1 --format='commit %h of %cs')
	[ -n "$tmp" ] || ! [ -d /dev/shm ] || tmp=/dev/shm
	TMPDIR=$tmp command contest run -revision "$revision" "$@"
}

# hub measures programs by their processor time, of which 50 ms would have little.
hub() {
	go -C engine/cluster test -run '^$' -bench 'Paced|HubCore' -benchtime 60x .
	go -C engine/cluster test -run '^$' -bench 'Digests|Sites' -benchtime 50x ./hub
}

# keep shows results and keeps them in a file of bench/out, with their origin.
keep() {
	local name=$1
	shift
	{ origin && "$@"; } | tee "$out/$name.txt"
}

# everything measures the suites that are named, in few rounds.
everything() {
	local part
	for part in "$@"; do
		case $part in
		contest) contest -packets 0 -rounds 3 ;;
		pipeline) pipeline -rounds 3 -largest 1000 ;;
		live) live -rounds 2 -skip tcpdump,dumpcap,keep-flow ;;
		kernels) kernels 2 ;;
		peers) peers 1 ;;
		*) echo "no part $part" >&2 && return 2 ;;
		esac
	done
}

results() { (cd bench/peers && go run ./report -o ../RESULTS.md -charts ../charts "$out/$1.txt"); }

# ARGS may hold quoted words.
eval "args=(${ARGS:-})"
case ${1:-kernels} in
kernels) keep kernels kernels "$rounds" ;;
short) measure . 1 -bench . -skip '/memory=(16384|131072|524288)KiB' ./asm/... ;;
large) keep large measure . "$rounds" -bench "$largest" ./asm/line ./engine/... ;;
compare)
	if [ -n "${PACKAGES:-}" ]; then
		read -ra packages <<<"$PACKAGES"
	fi
	bench/compare.sh -r "$rounds" -b "${WHICH:-.}" -s "$largest" "${OLD:?OLD=REVISION is missing}" -- "${packages[@]}"
	;;
peers) keep peers peers "$rounds" ;;
peers-large) keep peers-large measure bench/peers 1 -timeout 2h -bench "$largePeers" . ;;
pipeline) keep pipeline pipeline -rounds "$rounds" "${args[@]}" ;;
paths)
	keep paths paths -rounds "$rounds" "${args[@]}"
	results paths
	;;
flows)
	keep flows flows -rounds "$rounds" "${args[@]}"
	results flows
	;;
levels) bench/levels.sh ;;
live) keep live live -rounds "$rounds" "${args[@]}" ;;
hub) keep hub hub ;;
contest) keep contest contest -rounds "$rounds" -page bench/RESULTS.md "${args[@]}" ;;
merge)
	go run ./bench/merge
	go run ./bench/merge -overlap
	;;
all)
	read -ra parts <<<"${PARTS:-contest pipeline live kernels peers}"
	keep all everything "${parts[@]}"
	results all
	;;
results) results all ;;
*)
	echo "no suite $1; there are:" >&2
	sed -nE 's/^# ([a-z-]+: .*)/  \1/p' "$0" >&2
	exit 2
	;;
esac
