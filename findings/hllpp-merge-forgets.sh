#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: Merge of retailnext's hllpp "turns h into the union of h and other": the order does not
#        matter, nor whether somebody asked for Count() before.
# Is:    a small sketch into which a large one is merged forgets up to 767 elements, those that it took since
#        it was last asked. It keeps them in a list, and Merge changes to registers without them. After a
#        Count(), or the other way round, nothing is lost. The same holds for two middle ones
#        whose union outgrows the sparse form.
# Why:   the total of a quiet and a busy sensor lacks the quiet one whole. A test that prints both counts
#        first, as most do, sees the right total.
set -euo pipefail
version=v1.0.1-0.20180308014038-101a6d2f8b52
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >go.mod <<MOD
module finding

go 1.24

require github.com/retailnext/hllpp $version
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"

	"github.com/retailnext/hllpp"
)

// sensor returns a sketch of count addresses, and whether it is asked for its count.
func sensor(first, count int, asked bool) *hllpp.HLLPP {
	sketch := hllpp.New()
	for i := first; i < first+count; i++ {
		sketch.Add([]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
	}
	if asked {
		sketch.Count()
	}
	return sketch
}

// union returns the count of the sketch after other was merged into it.
func union(sketch, other *hllpp.HLLPP) uint64 {
	if err := sketch.Merge(other); err != nil {
		panic(err)
	}
	return sketch.Count()
}

func main() {
	for _, n := range [][2]int{{767, 8000}, {5000, 5000}} {
		quiet := func(asked bool) *hllpp.HLLPP { return sensor(0, n[0], asked) }
		busy := func() *hllpp.HLLPP { return sensor(100000, n[1], false) }
		fmt.Printf("%d and %d: alone %d and %d; quiet with busy %d; busy with quiet %d; quiet, asked before, with busy %d\n",
			n[0], n[1], quiet(true).Count(), busy().Count(), union(quiet(false), busy()), union(busy(), quiet(false)), union(quiet(true), busy()))
	}
}
GO
go mod tidy >/dev/null 2>&1 || { echo "hllpp $version cannot be had"; exit 2; }
seen=$(go run .)
printf 'hllpp %s: counts of unions, expected about 8767 and 10000, and the same in each way:\n%s\n' "$version" "$seen"
[ "$seen" = "767 and 8000: alone 766 and 7976; quiet with busy 7976; busy with quiet 8741; quiet, asked before, with busy 8741
5000 and 5000: alone 4999 and 5000; quiet with busy 9571; busy with quiet 9559; quiet, asked before, with busy 9952" ]
