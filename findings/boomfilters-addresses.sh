#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: HyperLogLog of BoomFilters, made for an error of 1 %, counts the addresses of a network of
#        65,536 hosts nearly right, whether they are four bytes or text.
# Is:    it counts 258 as bytes and 6,578 as text. Its hash is FNV-1 of 32 bits, whose high bits hardly
#        change with the last bytes, and HyperLogLog reads these bits. Digests of SHA-256 of the same
#        addresses are counted right.
# Why:   addresses of one network are what a network has, and a report of distinct addresses is by a
#        factor of 250 too low. A hash for sketches has to change all of its bits.
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
	"log"

	boom "github.com/tylertreat/BoomFilters"
)

// counted returns what the sketch counts of 65,536 addresses in a form.
func counted(form func(address []byte) []byte) uint64 {
	sketch, err := boom.NewDefaultHyperLogLog(0.01)
	if err != nil {
		log.Fatal(err)
	}
	for i := range 1 << 16 {
		sketch.Add(form([]byte{10, 1, byte(i >> 8), byte(i)}))
	}
	return sketch.Count()
}

func main() {
	fmt.Printf("%d as bytes, %d as text, %d as digests\n",
		counted(func(a []byte) []byte { return a }),
		counted(func(a []byte) []byte { return fmt.Appendf(nil, "%d.%d.%d.%d", a[0], a[1], a[2], a[3]) }),
		counted(func(a []byte) []byte { sum := sha256.Sum256(a); return sum[:] }))
}
GO
go mod tidy >/dev/null 2>&1 || { echo "BoomFilters cannot be had"; exit 2; }
seen=$(go run .)
echo "BoomFilters 5b3723cc64ae: 65536 addresses are $seen"
[[ "$seen" =~ ^258\ as\ bytes,\ 6578\ as\ text,\ 6[456][0-9]{3}\ as\ digests$ ]]
