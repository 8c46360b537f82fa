// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"math"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// TestLiveMeter compares the shares of lives with those that a map of each length of life gives:
// equal if all elements are counted, and close if a sample is.
func TestLiveMeter(t *testing.T) {
	s := newTestStream(60_000, 0.3, 1<<12, 7)
	want := make(Lives, len(lifetimes))
	for i, life := range lifetimes {
		began := map[digest.Digest]uint64{}
		for at, d := range s.elements {
			if last, found := began[d]; !found || uint64(at)-last > life {
				began[d] = uint64(at)
				want[i] += 1 / float64(len(s.elements))
			}
		}
	}
	for _, c := range []struct {
		limit int
		off   float64
	}{{len(s.elements), 1e-9}, {4000, 0.05}} {
		m := liveMeter{limit: c.limit, began: map[digest.Digest]*[len(lifetimes)]uint64{}}
		for at, d := range s.elements {
			m.add(d, uint64(at)+1)
		}
		if len(m.began) > c.limit {
			t.Errorf("%d elements are counted, limit %d", len(m.began), c.limit)
		}
		got := m.result()
		for i := range want {
			if math.Abs(got[i]/want[i]-1) > c.off {
				t.Errorf("limit %d, lives of %d elements: share %.4f, want %.4f", c.limit, lifetimes[i], got[i], want[i])
			}
		}
		if err := got.check(); err != nil {
			t.Errorf("limit %d: %v", c.limit, err)
		}
	}
}
