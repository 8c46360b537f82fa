#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: roaring's HeapOr makes a new bitmap, the union of those given, as FastOr and ParOr do. What is
#        added to the union later is not in the sensors' own bitmaps.
# Is:    with two bitmaps that holds. With a single bitmap, HeapOr, HeapXor, and ParOr of 64-bit bitmaps,
#        return that bitmap itself: what is added to the union is added to the sensor. FastOr,
#        FastAnd and the 32-bit ParOr copy it.
# Why:   a total over however many sensors are up is right in each test with two. On the day with one, the
#        total and the sensor are the same set, and the sensor has "seen" packets that it never saw.
set -euo pipefail
version=v2.30.0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >go.mod <<MOD
module finding

go 1.24

require github.com/RoaringBitmap/roaring/v2 $version
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

// after returns how many elements the first of count sensors, with 3 elements each, has after an element
// was added to the total.
func after[B interface{ GetCardinality() uint64 }](count int, sensor func() B, total func(...B) B, add func(B)) uint64 {
	var sensors []B
	for range count {
		sensors = append(sensors, sensor())
	}
	add(total(sensors...))
	return sensors[0].GetCardinality()
}

func main() {
	narrow := func() *roaring.Bitmap { return roaring.BitmapOf(1, 2, 3) }
	wide := func() *roaring64.Bitmap { return roaring64.BitmapOf(1, 2, 3) }
	add := func(b *roaring.Bitmap) { b.Add(4) }
	parOr := func(b ...*roaring.Bitmap) *roaring.Bitmap { return roaring.ParOr(1, b...) }
	parOr64 := func(b ...*roaring64.Bitmap) *roaring64.Bitmap { return roaring64.ParOr(1, b...) }
	for count := 2; count > 0; count-- {
		fmt.Printf("of %d: FastOr %d, ParOr %d, HeapOr %d, HeapXor %d, roaring64.ParOr %d\n", count,
			after(count, narrow, roaring.FastOr, add), after(count, narrow, parOr, add),
			after(count, narrow, roaring.HeapOr, add), after(count, narrow, roaring.HeapXor, add),
			after(count, wide, parOr64, func(b *roaring64.Bitmap) { b.Add(4) }))
	}
}
GO
go mod tidy >/dev/null 2>&1 || { echo "roaring $version cannot be had"; exit 2; }
seen=$(go run .)
printf 'roaring %s: elements of a sensor of 3 after an addition to the total, expected 3 each:\n%s\n' "$version" "$seen"
[ "$seen" = "of 2: FastOr 3, ParOr 3, HeapOr 3, HeapXor 3, roaring64.ParOr 3
of 1: FastOr 3, ParOr 3, HeapOr 4, HeapXor 4, roaring64.ParOr 4" ]
