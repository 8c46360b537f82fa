// SPDX-License-Identifier: Apache-2.0

package layout

import "testing"

func TestMemoryBudget(t *testing.T) {
	limit, ok := memoryLimit()
	want := int64(unknownBudget)
	if ok {
		want = limit / 8
	}
	if got := MemoryBudget(); int64(got) != want || got <= 0 {
		t.Errorf("a budget of %d bytes of %d (%v)", got, limit, ok)
	}
}
