// SPDX-License-Identifier: Apache-2.0

package traits

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
)

var plain = MarkerConfig{Decoder: headers.NewDecoder(headers.DecoderConfig{})}

// judged is a packet of a stream with its verdict, or a block that is shown as a packet.
type judged struct {
	digest  digest.Digest
	copied  bool
	instead int // the packet kept in place of a copy, if it comes later
	block   bool
}

// randomStream returns packets of which about half are copies. Some copies come before the
// kept packet.
func randomStream(r *rand.Rand, n int) (all []judged) {
	var seen []digest.Digest
	for len(all) < n {
		p := judged{digest: digest.Digest{r.Uint64(), r.Uint64()}}
		switch k := r.IntN(10); {
		case k == 0:
			p.block = true
		case k < 6 && len(seen) > 0:
			p.copied, p.digest = true, seen[len(seen)-1-r.IntN(min(len(seen), 20))]
		default:
			seen = append(seen, p.digest)
		}
		all = append(all, p)
	}
	for i := range all {
		j := i + 1 + r.IntN(30)
		if j < n && !all[i].block && !all[j].block && !all[i].copied && all[j].copied && all[i].digest == all[j].digest {
			all[i].copied, all[j].copied, all[i].instead = true, false, j
		}
	}
	return all
}

// modelNumbers returns the numbers that comments have to name, 0 for no comment, -1 for a
// packet that is not remembered.
func modelNumbers(all []judged, rows int) (numbers []int) {
	type entry struct {
		digest digest.Digest
		number int
	}
	var kept []entry
	for i, p := range all {
		switch {
		case p.block:
			continue
		case !p.copied:
			kept = append(kept, entry{p.digest, i + 1})
			numbers = append(numbers, 0)
			continue
		case p.instead > 0:
			kept = append(kept, entry{p.digest, p.instead + 1})
		}
		want := -1
		for _, k := range kept[max(0, len(kept)-rows):] {
			if k.digest == p.digest {
				want = k.number
			}
		}
		numbers = append(numbers, want)
	}
	return numbers
}

// cut is a batch of a stream.
type cut struct {
	batch   *capture.Batch
	digests []digest.Digest
	drop    []uint64
	later   []uint32
}

// cuts cuts a stream into batches of at most most packets and blocks.
func cuts(t *testing.T, all []judged, most func() int) (out []cut) {
	t.Helper()
	for from := 0; from < len(all); {
		c := cut{batch: newMarkerBatch()}
		to := min(from+most(), len(all))
		for i := from; i < to; i++ {
			p := all[i]
			if p.block {
				c.batch.Blocks = append(c.batch.Blocks, capture.Block{Type: []uint32{capture.BlockCustom, capture.BlockJournal}[i%2], Before: uint32(len(c.batch.Frames))},
					capture.Block{Type: capture.BlockStatistics, Before: uint32(len(c.batch.Frames))})
				continue
			}
			n := len(c.batch.Frames)
			(&described{time: int64(i)}).appendTo(t, c.batch)
			c.digests = append(c.digests, p.digest)
			if n%64 == 0 {
				c.drop = append(c.drop, 0)
			}
			if p.copied {
				c.drop[n/64] |= 1 << (n % 64)
			}
			c.later = append(c.later, 0)
			if p.instead > 0 {
				for _, between := range all[i+1 : p.instead+1] {
					if !between.block {
						c.later[n]++
					}
				}
			}
		}
		out, from = append(out, c), to
	}
	return out
}

// TestNumbers compares what comments name with a plain model, for batches of all sizes and
// memories of few packets.
func TestNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for run := range 60 {
		all := randomStream(r, 300)
		rows := []int{remembered, 40, 8, 1}[run%4]
		want := modelNumbers(all, rows)
		most := []func() int{func() int { return 1000 }, func() int { return 1 }, func() int { return 1 + r.IntN(70) }}[run%3]
		stream := cuts(t, all, most)
		m := newMarker(plain, rows)
		var got []int
		for i, c := range stream {
			var next []*capture.Batch
			for _, n := range stream[i+1:] {
				next = append(next, n.batch)
			}
			b, _ := m.Mark(c.batch, c.digests, c.drop, c.later, next)
			for j := range b.Frames {
				got = append(got, numberOf(t, string(b.Comments.Of(j))))
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("run %d with %d rows:\n%v, want\n%v", run, rows, got, want)
		}
	}
}

// numberOf returns the packet that a comment names, as modelNumbers.
func numberOf(t *testing.T, comment string) (n int) {
	t.Helper()
	switch {
	case comment == "":
		return 0
	case comment == "copy of a packet no longer remembered":
		return -1
	}
	if _, err := fmt.Sscanf(comment, "copy of packet %d, ", &n); err != nil {
		t.Fatalf("%q: %v", comment, err)
	}
	return n
}

// TestLater names a packet that comes after its copy, and on an interface that the batch of
// the copy does not know.
func TestLater(t *testing.T) {
	first, second := newMarkerBatch(), newMarkerBatch()
	first.Interfaces = first.Interfaces[:1]
	(&described{time: 5_000_000}).appendTo(t, first)
	(&described{time: 5_000_001, payload: "another packet"}).appendTo(t, first)
	(&described{time: 5_210_000, iface: eth1, ttl: 1}).appendTo(t, second)
	m := NewMarker(plain)
	b, _ := m.Mark(first, []digest.Digest{{1, 1}, {2, 2}}, []uint64{1}, []uint32{2, 0}, []*capture.Batch{second})
	const want = "copy of packet 3, 0.210 ms earlier, TTL 1 -> 0, interface eth1 -> eth0"
	if got := string(b.Comments.Of(0)); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if b, _ = m.Mark(second, []digest.Digest{{1, 1}}, []uint64{0}, nil, nil); b.Comments.Size() != 0 {
		t.Errorf("%q on what is kept", b.Comments.Of(0))
	}
	// An announced packet may not come.
	b, _ = m.Mark(first, []digest.Digest{{3, 3}, {4, 4}}, []uint64{1}, []uint32{2, 0}, nil)
	if got := string(b.Comments.Of(0)); !strings.Contains(got, "no longer remembered") {
		t.Errorf("%q", got)
	}
}

// TestWindow names the last kept packet within a window of time, where later packets have no time or
// a time that is far off, and without such a window the last kept packet.
func TestWindow(t *testing.T) {
	for _, c := range []struct {
		window time.Duration
		kept   []int64 // the times of equal packets
		want   int
	}{
		{0, []int64{5, 1000}, 2},
		{0, []int64{5, capture.NoTime}, 2},
		{10, []int64{5, 6}, 2},
		{10, []int64{5, capture.NoTime}, 1},
		{10, []int64{5, 1000}, 1},
		{10, []int64{5, -1000, capture.NoTime, 1000}, 1},
		{10, []int64{500, 1000, capture.NoTime}, 2}, // with a window that each copy restarts
	} {
		b, digests := newMarkerBatch(), make([]digest.Digest, len(c.kept)+1)
		for _, at := range append(c.kept, 12) {
			(&described{time: at}).appendTo(t, b)
		}
		cfg := plain
		cfg.Window = c.window
		out, _ := NewMarker(cfg).Mark(b, digests, []uint64{1 << len(c.kept)}, nil, nil)
		if got := numberOf(t, string(out.Comments.Of(len(c.kept)))); got != c.want {
			t.Errorf("window %v, %v: packet %d, want %d", c.window, c.kept, got, c.want)
		}
	}
}

// TestMarkLeavesBatch checks that a batch stays as it is, and that no verdicts are none.
func TestMarkLeavesBatch(t *testing.T) {
	b := newMarkerBatch()
	(&described{}).appendTo(t, b)
	before := slices.Clone(b.Buf)
	m := NewMarker(plain)
	if out, _ := m.Mark(b, []digest.Digest{{1, 1}}, nil, nil, nil); out.Comments.Size() != 0 {
		t.Errorf("%q without a verdict", out.Comments.Of(0))
	}
	if out, _ := m.Mark(b, []digest.Digest{{1, 1}}, []uint64{1}, nil, nil); out.Comments.Size() == 0 || b.Comments.Size() != 0 || !slices.Equal(b.Buf, before) {
		t.Errorf("%d bytes of comments, %d in the batch", out.Comments.Size(), b.Comments.Size())
	}
}

func manyPackets(tb testing.TB) (*capture.Batch, []digest.Digest, []uint64) {
	b := newMarkerBatch()
	var digests []digest.Digest
	drop := make([]uint64, 1024/64)
	for i := range 1024 {
		s := described{iface: uint32(i % 2), ttl: byte(64 - i%2), vlans: []uint16{uint16(10 + i%2)}, time: int64(i)}
		s.appendTo(tb, b)
		digests = append(digests, digest.Digest{uint64(i / 2), uint64(i / 2)})
		drop[i/64] |= uint64(i%2) << (i % 64)
	}
	return b, digests, drop
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	b, digests, drop := manyPackets(t)
	m := newMarker(plain, 1000)
	m.Mark(b, digests, drop, nil, nil)
	if n := testing.AllocsPerRun(10, func() { m.Mark(b, digests, drop, nil, nil) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkMark marks every second packet of 90 bytes.
func BenchmarkMark(b *testing.B) {
	batch, digests, drop := manyPackets(b)
	m := NewMarker(plain)
	for b.Loop() {
		for i := range digests {
			digests[i][0] += 0x9e3779b97f4a7c15 // a new packet of the stream
		}
		m.Mark(batch, digests, drop, nil, nil)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(batch.Frames)), "ns/packet")
}
