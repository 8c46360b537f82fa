#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures what each level of the kernels in asm/line buys in whole commands: CPU time, in
# ROUNDS (5) rounds in which the levels take turns. The other kernels, such as those of
# digests, run at the best level of the CPU in all. Prints milliseconds, and for each plainer
# level how many times as long it takes: medians. Linux on amd64 with AVX-512, 500 MB in TMPDIR.
#
# The CPU time is all of it, user and system: most kernels divide it by what a clock of 4 ms
# hits, which moves user times of 60 ms by a tenth and more. Only the sum is exact.
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
go run ./bench/workload/cmd/genworkload -packets 6000000 -size 60 -flows 300000 -hours 0.06 -o "$tmp/in.pcap"

# cpu prints the user and the system CPU time of a command in seconds.
cpu() {
	local TIMEFORMAT='%U %S'
	{ time "$@" >/dev/null 2>"$tmp/errors"; } 2>&1 || { cat "$tmp/errors" >&2; return 1; }
}
median() { sort -n | awk '{ v[NR] = $1 } END { printf "%.2f", v[int((NR + 1) / 2)] }'; }
# column prints the milliseconds of a level, of each round.
column() { awk -v at="$1" '{ print 1000 * ($(2*at-1) + $(2*at)) }' "$tmp/times"; }

printf '%-64s %8s %8s %8s\n' command AVX-512 AVX2 generic
while read -r command; do
	read -ra words <<<"$command"
	for _ in $(seq "$rounds"); do
		for level in "${levels[@]}"; do
			cpu "$tmp/program-$level" "${words[@]}" --workers 1 --key "$(printf '0%.0s' {1..64})" "$tmp/in.pcap"
		done | paste -sd ' '
	done >"$tmp/times"
	printf '%-64s %5.0f ms' "$command" "$(column 1 | median)"
	for at in 2 3; do
		printf ' %8.2f' "$(paste <(column "$at") <(column 1) | awk '{ print $1 / $2 }' | median)"
	done
	echo
done <<'COMMANDS'
dedup
dedup --method fine
dedup --method coarse
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
