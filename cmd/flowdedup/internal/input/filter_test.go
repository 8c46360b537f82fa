// SPDX-License-Identifier: Apache-2.0

package input

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	xbpf "golang.org/x/net/bpf"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/bpf"
	"github.com/flowdedup/flowdedup/capture/pipeline"
)

// evenBytes accepts frames that begin with an even octet.
var evenBytes = bpf.Filter{Program: []xbpf.RawInstruction{{Op: 48}, {Op: 69, Jt: 1, K: 1}, {Op: 6, K: 1}, {Op: 6}}}

// octets returns a batch of frames of one octet each, 0 and up, with blocks, each behind a
// number of them.
func octets(n int, before ...uint32) *capture.Batch {
	b := &capture.Batch{Interfaces: make([]capture.Interface, 1)}
	for i := range n {
		b.Buf = append(b.Buf, byte(i))
		b.Frames = append(b.Frames, capture.Frame{Data: uint32(i), CapLen: 1, WireLen: 1})
	}
	for _, n := range before {
		b.Blocks = append(b.Blocks, capture.Block{Before: n})
	}
	return b
}

// matcher makes a Matcher of a filter.
func matcher(f bpf.Filter, warn func(error)) *Matcher {
	return NewMatcher(MatcherConfig{Flag: filterFlag, Condition: Condition{Filter: f}, Warn: warn})
}

// sift takes a batch through a filter, and returns how many packets it removed.
func sift(t *testing.T, m *Matcher, b *capture.Batch) int {
	t.Helper()
	if err := m.Admit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	return keep(b, m, make([]uint64, (len(b.Frames)+63)/64))
}

// TestRemove checks that blocks stay between the frames that surrounded them.
func TestRemove(t *testing.T) {
	b := octets(7, 0, 0, 1, 2, 3, 6, 7, 7)
	removed := sift(t, matcher(evenBytes, nil), b)
	var left []uint32
	for _, f := range b.Frames {
		left = append(left, f.Data)
	}
	var before []uint32
	for _, k := range b.Blocks {
		before = append(before, k.Before)
	}
	if removed != 3 || !slices.Equal(left, []uint32{0, 2, 4, 6}) || !slices.Equal(before, []uint32{0, 0, 1, 1, 2, 3, 4, 4}) {
		t.Errorf("%d removed, left %v, blocks behind %v", removed, left, before)
	}
	for _, b := range []*capture.Batch{octets(0), octets(0, 0, 0)} {
		want := slices.Clone(b.Blocks)
		if removed := sift(t, matcher(evenBytes, nil), b); removed != 0 || !reflect.DeepEqual(b.Blocks, want) {
			t.Errorf("without frames: %d, %v", removed, b.Blocks)
		}
	}
	b = octets(5, 2)
	if n := sift(t, matcher(bpf.Filter{Program: []xbpf.RawInstruction{{Op: 6}}}, nil), b); n != 5 || len(b.Frames) != 0 || b.Blocks[0].Before != 0 {
		t.Errorf("%d removed by a filter without matches, %v", n, b.Blocks)
	}
}

// TestRemoveModel compares filtering with a plain loop, for random batches.
func TestRemoveModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	m := matcher(evenBytes, nil)
	for range 500 {
		n := rng.IntN(2000)
		var before []uint32
		for range rng.IntN(5) {
			before = append(before, uint32(rng.IntN(n+1)))
		}
		slices.Sort(before)
		b, odd := octets(n, before...), rng.IntN(4)
		var want []uint32
		moved := make([]uint32, len(before))
		for i := range n {
			if b.Buf[i] = 2; rng.IntN(4) < odd {
				b.Buf[i] = 1
				continue
			}
			want = append(want, uint32(i))
			for k, at := range before {
				if uint32(i) < at {
					moved[k]++
				}
			}
		}
		again := *b
		again.Frames, again.Blocks = slices.Clone(b.Frames), slices.Clone(b.Blocks)
		picked := pick(&again, func(b *capture.Batch, i int) bool { return b.Data(i)[0] == 2 }, make([]uint64, (n+63)/64))
		removed := sift(t, m, b)
		if picked != removed || !slices.Equal(again.Frames, b.Frames) || !reflect.DeepEqual(again.Blocks, b.Blocks) {
			t.Fatalf("%d picked of %d, %d removed", n-picked, n, removed)
		}
		var left, blocks []uint32
		for _, f := range b.Frames {
			left = append(left, f.Data)
		}
		for _, k := range b.Blocks {
			blocks = append(blocks, k.Before)
		}
		if removed != n-len(want) || !slices.Equal(left, want) || !slices.Equal(blocks, moved) {
			t.Fatalf("%d removed of %d, left %v, want %v; blocks behind %v, want %v", removed, n, left, want, blocks, moved)
		}
	}
}

// TestEachFiltered counts removed packets, and ends if there is no filter.
func TestEachFiltered(t *testing.T) {
	for _, workers := range []int{1, 3} {
		s := newStream(&repeated10{n: 40}, matcher(evenBytes, nil))
		read := uint64(0)
		s.progress = func(_, _ int64, packets uint64) { read = packets }
		kept := 0
		err := s.Each(context.Background(), workers, func() pipeline.Task {
			return pipeline.InOrder(func(b *capture.Batch) error { kept += len(b.Frames); return nil })
		})
		if err != nil || kept != 200 || s.Filtered() != 200 || read != 400 {
			t.Errorf("%d kept, %d filtered of %d, %v", kept, s.Filtered(), read, err)
		}

		// Of each batch the first packet that the filter leaves is not wanted either.
		s = newStream(&repeated10{n: 40}, matcher(evenBytes, nil))
		s.wanted = func(_ *capture.Batch, i int) bool { return i > 0 }
		s.progress = func(_, _ int64, packets uint64) { read = packets }
		kept = 0
		err = s.Each(context.Background(), workers, func() pipeline.Task {
			return pipeline.InOrder(func(b *capture.Batch) error { kept += len(b.Frames); return nil })
		})
		if err != nil || kept != 160 || s.Filtered() != 200 || s.Unwanted() != 40 || read != 400 {
			t.Errorf("%d kept, %d filtered and %d unwanted of %d, %v", kept, s.Filtered(), s.Unwanted(), read, err)
		}

		s = newStream(&repeated10{n: 40}, matcher(bpf.Filter{Program: []xbpf.RawInstruction{{}}}, nil))
		err = s.Each(context.Background(), workers, func() pipeline.Task {
			return pipeline.InOrder(func(*capture.Batch) error { t.Error("a batch without a filter"); return nil })
		})
		if !errors.Is(err, bpf.ErrProgram) {
			t.Error(err)
		}
	}
}

// repeated10 is a source of n batches of ten octets.
type repeated10 struct {
	capture.Source
	n int
}

func (s *repeated10) Offset() (done, total int64) { return 0, 0 }

func (s *repeated10) Next(b *capture.Batch) error {
	if s.n == 0 {
		b.Reset()
		return io.EOF
	}
	s.n--
	*b = *octets(10)
	return nil
}

// TestNoWarningAfterClose checks that a read that outlives Close gives no warning.
func TestNoWarningAfterClose(t *testing.T) {
	emitted := 0
	w := &warnings{emit: func(error) { emitted++ }}
	w.warn(errors.New("one"))
	w.end()
	w.warn(errors.New("two"))
	if emitted != 1 || !w.damaged() {
		t.Errorf("%d warnings told, any is %v", emitted, w.damaged())
	}
}
