// SPDX-License-Identifier: Apache-2.0

package traits

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// TestMemory compares memories of several segments with a list of all packets that were entered.
func TestMemory(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	for _, most := range []int{1, segmentSize - 1, segmentSize, segmentSize + 1, 10_000} {
		m := newMemory(most)
		var all []row
		for len(all) < 3*segmentSize+100 {
			p := row{digest: digest.Digest{r.Uint64N(3) * segmentSize, r.Uint64N(3000)}}
			p.packet.time = int64(len(all) / 50)
			if r.IntN(10) == 0 {
				p.packet.time = []int64{capture.NoTime, -1000, 1 << 40}[r.IntN(3)]
			}
			all = append(all, p)
			entered := m.enter(&p.digest)
			entered.number, entered.time = uint64(len(all)), p.packet.time
			at, within := p.packet.time, time.Duration(r.IntN(200))
			want, equal := 0, 0
			d := all[r.IntN(len(all))].digest
			for i := len(all); i > max(0, len(all)-most) && equal < nearby; i-- {
				k := &all[i-1]
				if k.digest != d || within > 0 && k.packet.time == capture.NoTime {
					continue
				}
				if near := within == 0 || calendar.Distance(k.packet.time, at) <= uint64(within); near || want == 0 {
					want = i
					if near {
						break
					}
				}
				equal++
			}
			got := 0
			if k := m.find(d, at, within); k != nil {
				got = int(k.number)
			}
			if got != want {
				t.Fatalf("%d remembered, %d entered: packet %d, want %d", most, len(all), got, want)
			}
		}
	}
}
