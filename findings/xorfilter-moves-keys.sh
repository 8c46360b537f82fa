#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: xorfilter's Populate and PopulateBinaryFuse8 make a filter of the keys that they are given, and leave the slice
#        as it is. "The caller should avoid having too many duplicated keys": a few are allowed.
# Is:    of a slice without duplicates that holds. With one duplicate (some for the second function) the slice
#        comes back sorted, without duplicates, and filled up with the largest keys once more. The text of NewBinaryFuse
#        alone says that keys may change.
# Why:   the digest of packet i is no longer at i, and counts of digests are wrong: copies are single, and two packets
#        that came once are there twice. Test data without a copy shows nothing.
set -euo pipefail
version=v0.4.1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >go.mod <<MOD
module finding

go 1.24

require github.com/FastFilter/xorfilter $version
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"

	"github.com/FastFilter/xorfilter"
)

// moved returns how many of 1000 keys, the last few of which are copies of the first, are no longer in their places.
func moved(copies uint64, populate func([]uint64) error) (n int) {
	key := func(i int) uint64 { return (uint64(i)%(1000-copies) + 1) * 0x9e3779b97f4a7c15 }
	keys := make([]uint64, 1000)
	for i := range keys {
		keys[i] = key(i)
	}
	if err := populate(keys); err != nil {
		panic(err)
	}
	for i, k := range keys {
		if k != key(i) {
			n++
		}
	}
	return n
}

func main() {
	keys := []uint64{50, 30, 90, 30, 70, 10}
	if _, err := xorfilter.Populate(keys); err != nil {
		panic(err)
	}
	fmt.Print(keys)
	for _, copies := range []uint64{0, 1, 250} {
		xor := moved(copies, func(k []uint64) error { _, err := xorfilter.Populate(k); return err })
		fuse := moved(copies, func(k []uint64) error { _, err := xorfilter.PopulateBinaryFuse8(k); return err })
		fmt.Printf(", %d and %d", min(xor, 900), min(fuse, 900))
	}
}
GO
go mod tidy >/dev/null 2>&1 || { echo "xorfilter $version cannot be had"; exit 2; }
seen=$(go run .)
echo "xorfilter $version: keys 50 30 90 30 70 10 become, and of 1000 keys with 0, 1 and 250 copies so many moved (at least) by the two: $seen"
[ "$seen" = "[10 30 50 70 90 90], 0 and 0, 900 and 0, 900 and 900" ]
