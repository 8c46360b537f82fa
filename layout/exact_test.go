// SPDX-License-Identifier: Apache-2.0

package layout

import "testing"

func TestExactCells(t *testing.T) {
	for lines, want := range map[int]int{2: 16, 1 << 16: 16, 1 << 17: 32, MaxExactLines: 32} {
		if got := ExactCells(lines); got != want {
			t.Errorf("%d lines: %d cells, want %d", lines, got, want)
		}
	}
}
