// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/engine/cluster/hub"
)

// TestGrown checks that the status shows the growth of slices that grow.
func TestGrown(t *testing.T) {
	st := whole()
	st.PerSlice = append(st.PerSlice, hub.SliceStatus{Slice: 1, MemoryBytes: 3 << 15, Filters: 3})
	st.Chains.Shape.Limit = 1 << 30
	for _, grown := range []bool{true, false} {
		var text strings.Builder
		if err := writeStatus(newTables(&text), *st, time.Unix(1_800_000_000, 0)); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(text.String(), "slices have grown to 2 to 3 filters each, 160 KiB of at most 1.0 GiB\n"); got != grown {
			t.Errorf("%v, want %v: %s", got, grown, text.String())
		}
		for i := range st.PerSlice {
			st.PerSlice[i].Filters = 0
		}
	}
}
