#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every fuzz target of the project in turn, for the time given. Minimizing is short, or it
# takes all the time of targets that are slow. A target that hardly runs is an error.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-10m}
least=${2:-100} # executions of a target
grep -rlE '^func Fuzz' --include='*_test.go' . | while read -r file; do
	sed -nE 's/^func (Fuzz[A-Za-z0-9_]*)\(.*/\1/p' "$file" | while read -r target; do
		echo "== $target in $(dirname "$file")"
		said=$(cd "$(dirname "$file")" && go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 1s . 2>&1) || { # in its module
			echo "$said"
			exit 1
		}
		echo "$said" | tail -n 2
		ran=$(echo "$said" | sed -nE 's/.*execs: ([0-9]+).*/\1/p' | tail -n 1)
		if [ "${ran:-0}" -lt "$least" ]; then
			echo "$target ran ${ran:-0} times only" >&2
			exit 1
		fi
	done
done
