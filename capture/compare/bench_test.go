// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"testing"

	"github.com/flowdedup/flowdedup/capture"
)

// repeatedBatches is a Source of prepared batches that are read once each.
type repeatedBatches struct{ batches []*Batch }

func (s *repeatedBatches) Next() *Batch {
	if len(s.batches) == 0 {
		return nil
	}
	b := s.batches[0]
	s.batches = s.batches[1:]
	return b
}

func (s *repeatedBatches) Release(*Batch) {}

// BenchmarkCompare compares packets of 64 bytes: what a packet of both sides takes.
func BenchmarkCompare(b *testing.B) {
	const n = 1 << 20
	packets := make([]packet, n)
	for i := range packets {
		packets[i] = packet{time: int64(i) * 1000, id: uint32(i), flow: uint32(i*7919) % 5000}
	}
	for _, late := range []int64{0, 50_000_000} {
		b.Run(map[int64]string{0: "near", 50_000_000: "late"}[late], func(b *testing.B) {
			var raw [2][]*capture.Batch
			for side := range raw {
				for from := 0; from < n; from += 6000 {
					some := packets[from:min(from+6000, n)]
					one := batchOf(some)
					for i := range one.Frames {
						one.Frames[i].Time += late * int64(side) * int64(i%2)
					}
					raw[side] = append(raw[side], one)
				}
			}
			b.ResetTimer()
			for range b.N {
				c := newComparer(Config{})
				var sources [2]*repeatedBatches
				for side := range raw {
					sources[side] = &repeatedBatches{}
					p := c.NewPreparer(side)
					for _, one := range raw[side] {
						to := &Batch{packets: *one}
						p.Prepare(one)
						to.known, p.known = p.known, to.known
						sources[side].batches = append(sources[side].batches, to)
					}
				}
				if _, err := c.Search(sources[0], sources[1]); err != nil {
					b.Fatal(err)
				}
				if err := c.Run(nil); err != nil {
					b.Fatal(err)
				}
				if r := c.Report(10); r.Both != n {
					b.Fatal(r.Both)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(2*n), "ns/packet")
		})
	}
}
