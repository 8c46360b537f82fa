#!/usr/bin/env bash
# Runs every fuzz target of the project in turn, for the time given.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-10m}
grep -rlE '^func Fuzz' --include='*_test.go' . | while read -r file; do
	sed -nE 's/^func (Fuzz[A-Za-z0-9_]*)\(.*/\1/p' "$file" | while read -r target; do
		echo "== $target in $(dirname "$file")"
		(cd "$(dirname "$file")" && go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" .) # in its module
	done
done
