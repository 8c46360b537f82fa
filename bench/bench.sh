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
# levels: what the levels of the kernels of lines buy in whole commands: amd64 with AVX-512, two minutes.
# live: receivers of live traffic, in a network namespace: Linux, as root, half an hour. ARGS holds more flags, such as -quick.
# contest: programs that remove copies, ten minutes, into RESULTS.md. ARGS holds more flags, such as -tool 'NAME: COMMAND {in} {out}'.
# merge: unites the saved counts of 20 sensors of 10 million flows, with and without overlap, by 1.1 GB of files: Linux.
# all: everything in RESULTS.md within twenty minutes, in few rounds: Linux, as root.
# results: makes RESULTS.md and charts from bench/out; figures without new results stay as they are.
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${ROUNDS:-5}
packages=(./asm/... ./layout ./engine/... ./capture/...)
largest=/memory=524288KiB
largePeers='/memory=(131072|524288)KiB'
out=$PWD/bench/out
mkdir -p "$out"

# measure runs benchmarks in a module so many times.
measure() {
	local module=$1 times=$2
	shift 2
	for _ in $(seq "$times"); do
		go -C "$module" test -run '^$' -benchtime 50ms -cpu 1 "$@"
	done
}

kernels() { measure . "$1" -bench . -skip "$largest" "${packages[@]}" | tee "$out/bench.txt"; }
peers() { measure bench/peers "$1" -bench . -skip "$largePeers" . | tee "$out/peers.txt"; }
pipeline() { bench/pipeline/run.sh "$@" | tee "$out/pipeline.txt"; }
live() { bench/live/run.sh "$@" | tee "$out/live.txt"; }
results() {
	find "$out" -name '*.txt' -print0 | sort -z | (cd bench/peers && xargs -0 go run ./report -o ../RESULTS.md -charts ../charts)
}

# ARGS may hold quoted words.
eval "args=(${ARGS:-})"
case ${1:-kernels} in
kernels) kernels "$rounds" ;;
short) measure . 1 -bench . -skip '/memory=(16384|131072|524288)KiB' ./asm/... ;;
large) measure . "$rounds" -bench "$largest" ./asm/line ./engine/... | tee "$out/bench-large.txt" ;;
compare)
	if [ -n "${PACKAGES:-}" ]; then
		read -ra packages <<<"$PACKAGES"
	fi
	bench/compare.sh -r "$rounds" -b "${WHICH:-.}" -s "$largest" "${OLD:?OLD=REVISION is missing}" -- "${packages[@]}"
	;;
peers) peers "$rounds" ;;
peers-large) measure bench/peers 1 -timeout 2h -bench "$largePeers" . | tee "$out/peers-large.txt" ;;
pipeline) pipeline -rounds "$rounds" "${args[@]}" ;;
levels) bench/levels.sh ;;
live) live -rounds "$rounds" "${args[@]}" ;;
contest) bench/contest/run.sh -rounds "$rounds" -page bench/RESULTS.md "${args[@]}" ;;
merge)
	go run ./bench/merge
	go run ./bench/merge -overlap
	;;
all)
	kernels 2
	peers 1
	pipeline -rounds 3 -largest 1000
	live -rounds 2 -skip tcpdump,dumpcap,keep-flow
	results
	;;
results) results ;;
*)
	echo "no suite $1; there are:" >&2
	sed -nE 's/^# ([a-z-]+: .*)/  \1/p' "$0" >&2
	exit 2
	;;
esac
