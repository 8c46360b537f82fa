#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: a scalable Bloom filter of BoomFilters, made for a target rate of false positives of 1 %, has
#        that rate as it grows: bounding it is what these filters are for.
# Is:    1 % is the rate of its first part alone. Each further part adds 0.8 times as much as the part
#        before, so that all of them approach 5 %. Of a million different elements 3.9 % are called seen.
# Why:   as a filter of duplicates it loses four times as many packets as it was asked for. The paper of
#        these filters has the factor 1 / (1 - 0.8) in its bound; a program has to divide by it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >go.mod <<'MOD'
module finding

go 1.24

require github.com/tylertreat/BoomFilters v0.0.0-20251001182300-5b3723cc64ae
MOD
cat >main.go <<'GO'
package main

import (
	"crypto/sha256"
	"fmt"

	boom "github.com/tylertreat/BoomFilters"
)

func main() {
	const elements = 1_000_000
	filter, seen := boom.NewDefaultScalableBloomFilter(0.01), 0
	for i := range elements {
		element := sha256.Sum256([]byte{byte(i), byte(i >> 8), byte(i >> 16)})
		if filter.TestAndAdd(element[:]) {
			seen++
		}
	}
	fmt.Printf("%.1f %%\n", 100*float64(seen)/elements)
}
GO
go mod tidy >/dev/null 2>&1 || { echo "BoomFilters cannot be had"; exit 2; }
seen=$(go run .)
echo "BoomFilters 5b3723cc64ae: target 1 %, of a million different elements $seen are called seen"
[[ "$seen" =~ ^(3\.[5-9]|4\.[0-4])\ %$ ]]
