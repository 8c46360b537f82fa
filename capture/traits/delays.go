// SPDX-License-Identifier: Apache-2.0

package traits

import (
	"cmp"
	"math"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// RelativeError is by how much the percentiles of delays may be wrong.
const RelativeError = 0.01

// digits is the precision of a histogram: values are off by RelativeError at most.
const digits = 2

// Histogram counts delays. It takes 25 KiB for delays up to a second.
type Histogram struct {
	most  int64
	count uint64
	hist  *hdrhistogram.Histogram
}

// NewHistogram returns an empty histogram. It counts delays above most nanoseconds as most,
// which is at least 2.
func NewHistogram(most int64) *Histogram {
	most = max(most, 2)
	return &Histogram{most: most, hist: hdrhistogram.New(1, most, digits)}
}

// Add counts weight delays, in nanoseconds.
func (d *Histogram) Add(delay, weight uint64) {
	d.count += weight
	// RecordValues fails only above the highest value.
	_ = d.hist.RecordValues(int64(min(delay, uint64(d.most))), int64(weight))
}

// Merge adds a histogram o with the same most; o may be nil.
func (d *Histogram) Merge(o *Histogram) {
	if o != nil {
		d.count += o.count
		d.hist.Merge(o.hist)
	}
}

// Count returns how many delays were counted.
func (d *Histogram) Count() uint64 { return d.count }

// Delays are percentiles of delays in nanoseconds, off by RelativeError at most.
type Delays struct {
	P50  int64 `json:"p50"`
	P90  int64 `json:"p90"`
	P99  int64 `json:"p99"`
	P999 int64 `json:"p999"`
	Max  int64 `json:"max"`
}

// Delays returns the percentiles of the counted delays.
func (d *Histogram) Delays() Delays {
	h := d.hist
	return Delays{P50: h.ValueAtQuantile(50), P90: h.ValueAtQuantile(90), P99: h.ValueAtQuantile(99), P999: h.ValueAtQuantile(99.9), Max: h.Max()}
}

// Bin counts the delays of at least From and below To nanoseconds.
type Bin struct {
	From  int64  `json:"from_ns"`
	To    int64  `json:"to_ns"`
	Count uint64 `json:"count"`
}

// binsPerDecade is how fine delays are reported. The histograms are finer.
const binsPerDecade = 10

// Bins sums up a histogram. Bins grow with the delay. Empty bins at both ends are left out.
func (d *Histogram) Bins() []Bin {
	all := []Bin{}
	if d.count == 0 {
		return all
	}
	from := int64(0)
	for i := 0; from <= d.hist.Max(); i++ {
		to := int64(math.Ceil(math.Pow(10, float64(i)/binsPerDecade)))
		if to <= from {
			continue
		}
		all = append(all, Bin{From: from, To: to})
		from = to
	}
	for _, bar := range d.hist.Distribution() {
		if bar.Count > 0 {
			i, _ := slices.BinarySearchFunc(all, bar.From, func(b Bin, v int64) int { return cmp.Compare(b.To, v+1) })
			all[min(i, len(all)-1)].Count += uint64(bar.Count)
		}
	}
	for len(all) > 0 && all[0].Count == 0 {
		all = all[1:]
	}
	return all
}
