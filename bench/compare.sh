#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compares the benchmarks of two revisions of the project in alternating rounds, so that
# whatever else the machine does falls on both, and prints what benchstat makes of them:
#
#	bench/compare.sh [-r ROUNDS] [-b BENCH] [-s SKIP] OLD [NEW] -- PACKAGE...
#
# NEW is the working tree unless it is given. BENCH and SKIP are those of go test. A
# benchmark that only one revision has is shown without a comparison. The raw results
# are in bench/out/compare-old.txt and compare-new.txt.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
	sed -n '5s/^#\t/usage: /p' "$0" >&2
	exit 2
}

rounds=10 bench=. skip='^$'
while getopts r:b:s: flag; do
	case $flag in
	r) rounds=$OPTARG ;;
	b) bench=$OPTARG ;;
	s) skip=$OPTARG ;;
	*) usage ;;
	esac
done
shift $((OPTIND - 1))
revisions=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
	revisions+=("$1")
	shift
done
[ ${#revisions[@]} -ge 1 ] && [ ${#revisions[@]} -le 2 ] && [ $# -ge 2 ] || usage
shift

work=$(mktemp -d)
trees=()
cleanup() {
	for tree in "${trees[@]}"; do
		git worktree remove --force "$tree"
	done
	rm -rf "$work"
}
trap cleanup EXIT

# build NAME TREE PACKAGE... builds the test programs of a tree, and lists their folders.
build() {
	local name=$1 tree=$2
	shift 2
	mkdir "$work/$name"
	(
		cd "$tree"
		for folder in $(go list -e -f '{{if .TestGoFiles}}{{.Dir}}{{end}}{{if .XTestGoFiles}} {{.Dir}}{{end}}' "$@" | tr ' ' '\n' | sort -u); do
			program=$(echo "${folder#"$PWD"/}" | tr / _)
			go test -c -o "$work/$name/$program.test" "$folder"
			echo "$folder" >"$work/$name/$program.folder"
		done
	)
}

checkout() {
	git worktree add --quiet --detach "$work/tree-$1" "$2"
	trees+=("$work/tree-$1")
}

checkout old "${revisions[0]}"
build old "$work/tree-old" "$@"
if [ ${#revisions[@]} -eq 2 ]; then
	checkout new "${revisions[1]}"
	build new "$work/tree-new" "$@"
else
	build new "$PWD" "$@"
fi

mkdir -p bench/out
: >bench/out/compare-old.txt
: >bench/out/compare-new.txt
for round in $(seq "$rounds"); do
	# Which one comes first alternates, too: the second finds a warmer machine.
	order="old new"
	[ $((round % 2)) -eq 1 ] || order="new old"
	for name in $order; do
		for program in "$work/$name"/*.test; do
			(cd "$(cat "${program%.test}.folder")" && "$program" -test.run '^$' -test.bench "$bench" \
				-test.skip "$skip" -test.benchtime 200ms -test.cpu 1) >>"bench/out/compare-$name.txt"
		done
	done
done
cd bench/peers
go tool benchstat old=../out/compare-old.txt new=../out/compare-new.txt
