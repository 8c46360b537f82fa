#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: xorfilter's Populate reads the keys that it is given. If some of them occur several times, it copes,
#        or returns an error.
# Is:    it copes by writing into the caller's slice. Afterwards the keys are sorted, and how often each
#        occurs is another: of 5 three times and 7 once, 5 and 7 are there twice. The text of
#        Populate does not say so (the text of PopulateBinaryFuse8 does).
# Why:   who builds the filter of a window first and counts the window's packets then counts wrongly, and
#        only for windows with copies.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >go.mod <<'MOD'
module finding

go 1.24

require github.com/FastFilter/xorfilter v0.4.2-0.20260120015552-4e5a4d9df65a
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"

	"github.com/FastFilter/xorfilter"
)

func main() {
	keys := []uint64{5, 3, 9, 1, 3, 5, 7, 5}
	fmt.Print(keys)
	_, err := xorfilter.Populate(keys)
	fmt.Println(" became", keys, err)
}
GO
go mod tidy >/dev/null 2>&1 || { echo "xorfilter cannot be had"; exit 2; }
seen=$(go run .)
echo "xorfilter 4e5a4d9df65a: keys $seen"
[ "$seen" = "[5 3 9 1 3 5 7 5] became [1 3 5 7 9 5 7 9] <nil>" ]
