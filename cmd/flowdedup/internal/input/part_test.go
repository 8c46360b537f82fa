// SPDX-License-Identifier: Apache-2.0

package input

import (
	"context"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/capture/pipeline"
	"github.com/flowdedup/flowdedup/capture/reassemble"
)

// timedSource gives octets with times, size to a batch, each behind a block, and then waits if
// silent is not nil.
type timedSource struct {
	capture.Source
	times  []int64
	size   int
	at     int
	silent chan struct{}
}

func (s *timedSource) Offset() (done, total int64) { return 0, 0 }

func (s *timedSource) Next(b *capture.Batch) error {
	b.Reset()
	if s.at == len(s.times) && s.silent != nil {
		<-s.silent
	}
	if s.at == len(s.times) {
		return io.EOF
	}
	*b = capture.Batch{Interfaces: make([]capture.Interface, 1)}
	for ; s.at < len(s.times) && len(b.Frames) < s.size; s.at++ {
		n := uint32(len(b.Frames))
		b.Blocks = append(b.Blocks, capture.Block{Type: uint32(s.at), Before: n})
		b.Buf = append(b.Buf, byte(s.at))
		b.Frames = append(b.Frames, capture.Frame{Time: s.times[s.at], Data: n, Record: n, CapLen: 1, WireLen: 1})
	}
	return nil
}

// partOf returns the octets and the blocks of a part, and how many packets were left out.
func partOf(t *testing.T, src *timedSource, p Part, m *Matcher, workers int) (octets []byte, blocks []uint32, filtered uint64) {
	t.Helper()
	s := newStream(src, m)
	s.part.Part = p
	if err := s.Each(t.Context(), workers, func() pipeline.Task {
		return pipeline.InOrder(func(b *capture.Batch) error {
			for i := range b.Frames {
				octets = append(octets, b.Data(i)...)
			}
			for _, k := range b.Blocks {
				blocks = append(blocks, k.Type)
			}
			return nil
		})
	}); err != nil {
		t.Fatal(err)
	}
	return octets, blocks, s.Filtered()
}

// TestPartModel compares parts of random streams, out of order and partly without times, with a
// plain loop, for several sizes of batches.
func TestPartModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	bound := func() *Bound {
		if rng.IntN(3) == 0 {
			return nil
		}
		return &Bound{Time: rng.Int64N(120), Offset: rng.IntN(2) == 0}
	}
	for range 300 {
		times := make([]int64, rng.IntN(200))
		for i := range times {
			if times[i] = int64(i/2) + rng.Int64N(20); rng.IntN(10) == 0 {
				times[i] = capture.NoTime
			}
		}
		p := Part{From: bound(), To: bound(), Count: uint64(max(0, rng.IntN(80)-20))}
		var first *int64
		var want []byte
		var last int
		filtered := uint64(0)
		for i, at := range times {
			if first == nil && at != capture.NoTime {
				first = &at
			}
			in := at == capture.NoTime
			if !in {
				from, to := p.From.at(*first, math.MinInt64), p.To.at(*first, math.MaxInt64)
				in = at >= from && at < to
			}
			switch {
			case i%2 == 0 && in:
				want = append(want, byte(i))
			default:
				filtered++
			}
			if last = i; p.Count > 0 && uint64(len(want)) == p.Count {
				break
			}
		}
		for _, size := range []int{1, 7, 64, 300} {
			got, blocks, n := partOf(t, &timedSource{times: times, size: size}, p, matcher(evenBytes, nil), 1+rng.IntN(3))
			if !slices.Equal(got, want) || n != filtered || len(times) > 0 && len(blocks) != last+1 {
				t.Fatalf("%+v, batches of %d: %v and %d blocks, %d filtered; want %v, %d, %d", p, size, got, len(blocks), n, want, last+1, filtered)
			}
		}
	}
}

// TestCountEndsSilent checks that a counted part of a silent pipe ends, with all of its packets
// written.
func TestCountEndsSilent(t *testing.T) {
	for _, workers := range []int{1, 3} {
		silent := make(chan struct{})
		s := newStream(&timedSource{times: make([]int64, 20), size: 10, silent: silent}, nil)
		s.part.Count = 20
		written := new(writes)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if err := s.Each(ctx, workers, func() pipeline.Task { return written }); err != nil || written.n.Load() != 20 {
			t.Errorf("%d packets written of 20, %v", written.n.Load(), err)
		}
		cancel()
		close(silent)
	}
}

// writes counts what is written.
type writes struct{ n atomic.Int64 }

func (w *writes) Prepare(*capture.Batch)     {}
func (w *writes) Judge(*capture.Batch) error { return nil }
func (w *writes) Write(b *capture.Batch) error {
	w.n.Add(int64(len(b.Frames)))
	return nil
}

// TestBoundSaturates checks that an offset from a late time is no early time.
func TestBoundSaturates(t *testing.T) {
	if got := (&Bound{Time: 10, Offset: true}).at(math.MaxInt64-5, 0); got != math.MaxInt64 {
		t.Error(got)
	}
}

// aheadSource finds damage, wrong times and a fragment of a tunnel in its second batch.
type aheadSource struct {
	timedSource
	warnings *warnings
	read     chan struct{}
}

func (s *aheadSource) Next(b *capture.Batch) error {
	second := s.at == s.size
	if s.at == 2*s.size { // the counts of the second batch are known
		close(s.read)
	}
	err := s.timedSource.Next(b)
	b.Sections = make([]capture.Section, 1)
	if second {
		s.warnings.warn(capture.ErrDamaged)
		s.warnings.note(&pcapfile.TimesError{})
		b.Buf = append([]byte{0x45, 3: 28, 6: 0x20, 8: 64, 47, 27: 0}, b.Buf...)
		b.Frames[0].CapLen, b.Frames[0].WireLen, b.Frames[0].RecordLen = 28, 28, 28
		b.Interfaces[0].LinkType = capture.LinkRaw
	}
	return err
}

// TestReadAhead reads beyond the end of a part, which a run does by chance.
func TestReadAhead(t *testing.T) {
	for count, want := range []int{3, 0, 0, 3} {
		src := &aheadSource{timedSource: timedSource{times: []int64{0, 0, 0, 2e9, 2e9, 2e9}, size: 2}, read: make(chan struct{})}
		whole, counts := reassemble.NewSource(src, false, nil)
		s := newStream(whole, nil)
		s.whole, s.part.Count, src.warnings = counts, uint64(count), s.warnings
		said := 0
		s.warnings.emit = func(error) { said++ }
		err := s.Each(t.Context(), 2, func() pipeline.Task {
			return pipeline.InOrder(func(*capture.Batch) error {
				<-src.read
				return nil
			})
		})
		said += int(s.Fragments().Left)
		if err != nil || said != want || s.Damaged(err) != (want > 0) {
			t.Errorf("the first %d packets: %d findings, damaged is %v, error %v; want %d", count, said, s.Damaged(err), err, want)
		}
	}
}
