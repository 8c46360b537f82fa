#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures what each level of the kernels in asm/line buys in whole commands: user CPU time,
# medians of ROUNDS (5) rounds in which the levels take turns. The other kernels, such as
# those of digests, run at the best level of the CPU in all. Prints milliseconds, and for each
# plainer level how many times as long it takes. Linux on amd64 with AVX-512, 500 MB in TMPDIR.
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${ROUNDS:-5}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
levels=(AVX512 AVX2 Generic)

# Each program has the level as a constant in asm/line.
for level in "${levels[@]}"; do
	mkdir "$tmp/$level"
	replace=
	for file in $(grep -l 'cpu\.Best\b' asm/line/*.go | grep -v _test); do
		sed "s/cpu\.Best\b/cpu.$level/g" "$file" >"$tmp/$level/${file##*/}"
		replace+="${replace:+,}\"$PWD/$file\": \"$tmp/$level/${file##*/}\""
	done
	echo "{\"Replace\": {$replace}}" >"$tmp/$level.json"
	go build -overlay "$tmp/$level.json" -o "$tmp/program-$level" ./cmd/flowdedup
done
go run ./bench/workload/cmd/genworkload -packets 2000000 -size 60 -flows 300000 -hours 0.02 -o "$tmp/in.pcap"

# user prints the user CPU time of a command in seconds.
user() {
	local TIMEFORMAT=%U
	{ time "$@" >/dev/null 2>"$tmp/errors"; } 2>&1 || { cat "$tmp/errors" >&2; return 1; }
}
median() { sort -n "$1" | awk '{ v[NR] = $1 } END { printf "%.0f", 1000 * v[int((NR + 1) / 2)] }'; }

printf '%-64s %8s %8s %8s\n' command AVX-512 AVX2 generic
while read -r command; do
	read -ra words <<<"$command"
	for round in $(seq "$rounds"); do
		for level in "${levels[@]}"; do
			user "$tmp/program-$level" "${words[@]}" --workers 1 --key "$(printf '0%.0s' {1..64})" "$tmp/in.pcap" >>"$tmp/$level.times"
		done
	done
	best=$(median "$tmp/AVX512.times")
	printf '%-64s %5s ms' "$command" "$best"
	for level in AVX2 Generic; do
		awk -v t="$(median "$tmp/$level.times")" -v best="$best" 'BEGIN { printf " %8.2f", t / best }'
	done
	echo
	rm "$tmp"/*.times
done <<'COMMANDS'
dedup
dedup --method fine
dedup --method coarse
dedup --method apbf --memory 8MiB
dedup --window none --method lru --memory 8MiB
dedup --window none --method sbf --memory 8MiB
dedup --window none --method sbf --param Max=3 --memory 8MiB
dedup --window none --method rlbsbf --memory 8MiB
distinct --of src
distinct --of flow
distinct --of flow --method bloom
distinct --of flow --method lru --memory 8MiB
distinct --of src --every 10s --slide 1s
COMMANDS
