#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: when cuckoofilter's Insert returns false, the filter is full and the element is not in it. All
#        that it took before is still there.
# Is:    the element is in the filter, and an element that it took before is not: after 500 moves Insert
#        gives up, and drops the fingerprint that it holds in its hand. Each further refusal drops one.
# Why:   a filter "without false negatives" forgets a random packet for each one that it refuses, and the
#        copies of those packets pass, while the caller looks after the wrong one.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >go.mod <<'MOD'
module finding

go 1.24

require github.com/seiflotfy/cuckoofilter v0.0.0-20240715131351-a2f2c23f1771
MOD
cat >main.go <<'GO'
package main

import (
	"encoding/binary"
	"fmt"

	cuckoo "github.com/seiflotfy/cuckoofilter"
)

func element(i int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(i)*0x9e3779b97f4a7c15) }

func main() {
	const refusals = 10
	filter := cuckoo.NewFilter(1 << 12)
	var taken, refused []int
	for i := 0; len(refused) < refusals; i++ {
		if filter.Insert(element(i)) {
			taken = append(taken, i)
		} else {
			refused = append(refused, i)
		}
	}
	have := func(all []int) (n int) {
		for _, i := range all {
			if filter.Lookup(element(i)) {
				n++
			}
		}
		return n
	}
	fmt.Printf("%d of %d refused elements are in the filter; %v taken ones are gone\n", have(refused), refusals, have(taken) < len(taken))
	fmt.Printf("%d of %d\n", len(taken)-have(taken), len(taken))
}
GO
go mod tidy >/dev/null 2>&1 || { echo "cuckoofilter cannot be had"; exit 2; }
seen=$(go run .)
echo "cuckoofilter a2f2c23f1771: $seen"
[[ "$(head -1 <<<"$seen")" =~ ^([6-9]|10)\ of\ 10\ refused\ elements\ are\ in\ the\ filter\;\ true ]]
