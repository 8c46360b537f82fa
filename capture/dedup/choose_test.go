// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"hash/fnv"
	"io"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/dedup"
)

// bySum chooses about every n-th packet by the sum of its bytes.
func bySum(n uint32) dedup.Chooser {
	return func(chosen []uint64, b *capture.Batch, from, to int) {
		clear(chosen[:(to-from+63)/64])
		for i := from; i < to; i++ {
			if isChosen(b, i, n) {
				chosen[(i-from)/64] |= 1 << ((i - from) % 64)
			}
		}
	}
}

// isChosen is what bySum says of a packet. The TTL does not count, so that most copies
// agree with their originals.
func isChosen(b *capture.Batch, i int, n uint32) bool {
	sum := fnv.New32a()
	data := b.Data(i)
	_, _ = sum.Write(data[max(0, len(data)-20):]) // never fails
	return sum.Sum32()%n == 0
}

// batches returns the batches of a source that are cut into parts of size packets.
func batches(t *testing.T, src capture.Source, size int) (all []*capture.Batch) {
	for {
		b := &capture.Batch{}
		if err := src.Next(b); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		for from := 0; from < len(b.Frames); from += size {
			part := *b
			part.Frames = b.Frames[from:min(from+size, len(b.Frames))]
			all = append(all, &part)
		}
	}
}

// TestOnly compares the verdicts with the verdicts of a detector that gets only the chosen
// packets, whatever the size of batches is.
func TestOnly(t *testing.T) {
	eachTruth(t, func(t *testing.T, want *truth) {
		for _, n := range []uint32{1, 2, 7, 1 << 30} {
			plain := detector(t, want.config())
			var copies []int
			at, judged := 0, 0
			for _, b := range batches(t, want.open(t), 1000) {
				chosen := *b
				chosen.Frames = nil
				var numbers []int
				for i := range b.Frames {
					if isChosen(b, i, n) {
						chosen.Frames, numbers = append(chosen.Frames, b.Frames[i]), append(numbers, at+i)
					}
				}
				for _, i := range marked(nil, plain.Copies(&chosen), 0, len(chosen.Frames)) {
					copies = append(copies, numbers[i])
				}
				at, judged = at+len(b.Frames), judged+len(numbers)
			}
			for _, size := range []int{1, 63, 100, 5000} {
				cfg := want.config()
				cfg.Only = bySum(n)
				d := detector(t, cfg)
				var got []int
				at := 0
				for _, b := range batches(t, want.open(t), size) {
					got = marked(got, d.Copies(b), at, len(b.Frames))
					at += len(b.Frames)
				}
				if !slices.Equal(got, copies) || n == 1 && !slices.Equal(got, want.Removed) {
					t.Errorf("one of %d, %d a batch: %v, want %v", n, size, got, copies)
				}
				if left := d.Stats().Unjudged; left != uint64(at-judged) {
					t.Errorf("one of %d, %d a batch: %d were not judged, want %d", n, size, left, at-judged)
				}
			}
		}
	})
}

// TestProtect checks that protected packets stay, and that all other packets are judged as if
// none were protected.
func TestProtect(t *testing.T) {
	eachTruth(t, func(t *testing.T, want *truth) {
		for _, n := range []uint32{1, 2, 7, 1 << 30} {
			cfg := want.config()
			cfg.Protect = bySum(n)
			d := detector(t, cfg)
			p := d.NewBatchDetector()
			var got, copies []int
			at := 0
			for _, b := range batches(t, want.open(t), 70) {
				p.Prepare(b)
				got = marked(got, p.Judge(b), at, len(b.Frames))
				for i := range b.Frames {
					if _, found := slices.BinarySearch(want.Removed, at+i); found && !isChosen(b, i, n) {
						copies = append(copies, at+i)
					}
				}
				at += len(b.Frames)
			}
			stats := d.Stats()
			leftOut := stats.Unjudged + stats.Protected
			if !slices.Equal(got, copies) || leftOut != uint64(len(want.Removed)-len(copies)) {
				t.Errorf("one of %d: %v, want %v; %d spared", n, got, copies, leftOut)
			}
		}
	})
}
