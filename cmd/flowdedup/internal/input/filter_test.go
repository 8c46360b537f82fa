package input

import (
	"context"
	"errors"
	"io"
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

// octets returns a batch of frames of one octet each, 0 and up, with blocks that so many
// of them precede.
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

// sift takes a batch through a filter.
func sift(f *filter, b *capture.Batch) filterResult {
	s := f.admit(b)
	f.keep(context.Background(), b, &s)
	return s
}

// TestKeep checks that blocks stay between the frames that surrounded them.
func TestKeep(t *testing.T) {
	b := octets(7, 0, 0, 1, 2, 3, 6, 7, 7)
	s := sift(newFilter(evenBytes, nil), b)
	var left []uint32
	for _, f := range b.Frames {
		left = append(left, f.Data)
	}
	var before []uint32
	for _, k := range b.Blocks {
		before = append(before, k.Before)
	}
	if s.err != nil || s.filtered != 3 || !slices.Equal(left, []uint32{0, 2, 4, 6}) ||
		!slices.Equal(before, []uint32{0, 0, 1, 1, 2, 3, 4, 4}) {
		t.Errorf("%d filtered, left %v, blocks behind %v, %v", s.filtered, left, before, s.err)
	}
	for _, b := range []*capture.Batch{octets(0), octets(0, 0, 0)} {
		want := slices.Clone(b.Blocks)
		s := sift(newFilter(evenBytes, nil), b)
		if s.filtered != 0 || s.err != nil || !reflect.DeepEqual(b.Blocks, want) {
			t.Errorf("without frames: %+v, %v", s, b.Blocks)
		}
	}
}

// TestKeepAll checks that no filter changes nothing, and that a filter without matches
// leaves no packets.
func TestKeepAll(t *testing.T) {
	b := octets(5, 2)
	if s := sift(newFilter(bpf.Filter{}, nil), b); s.filtered != 0 || s.err != nil || len(b.Frames) != 5 {
		t.Errorf("%+v", s)
	}
	none := bpf.Filter{Program: []xbpf.RawInstruction{{Op: 6}}}
	if s := sift(newFilter(none, nil), b); s.filtered != 5 || s.err != nil || len(b.Frames) != 0 || b.Blocks[0].Before != 0 {
		t.Errorf("%+v", s)
	}
}

// TestLinkTypes checks that an expression without a meaning for the first packet is an
// error, and that each later such link type gives one warning.
func TestLinkTypes(t *testing.T) {
	ctx := context.Background()
	if _, err := new(bpf.Filter).For(ctx, capture.LinkEthernet, snapLen, ""); err != nil {
		t.Skip(err)
	}
	interfaces := []capture.Interface{{LinkType: capture.LinkRaw}, {LinkType: capture.LinkEthernet}, {LinkType: capture.LinkRaw}, {LinkType: capture.LinkPPP}}
	batch := func(order ...uint32) *capture.Batch {
		b := octets(len(order))
		b.Interfaces = interfaces
		for i, n := range order {
			b.Frames[i].Interface = n
		}
		return b
	}
	warnings := 0
	f := newFilter(bpf.Filter{Expr: "vlan"}, func(err error) {
		if warnings++; !errors.Is(err, bpf.ErrExpression) {
			t.Error(err)
		}
	})
	packets := uint64(0)
	for _, order := range [][]uint32{{}, {1, 0, 1, 2}, {2, 0}, {3, 1}, {1, 3, 2}} {
		s := sift(f, batch(order...))
		if err := f.check(&s, packets); err != nil || s.filtered != len(order) {
			t.Errorf("%v: %+v, %v", order, s, err)
		}
		packets += uint64(s.filtered)
	}
	if warnings != 2 {
		t.Errorf("%d warnings", warnings)
	}
	s := sift(f, batch(2, 1))
	if err := f.check(&s, 0); !errors.Is(err, bpf.ErrExpression) || !errors.Is(err, ErrFilter) || warnings != 2 {
		t.Errorf("%v after %d warnings", err, warnings)
	}
}

// ofInterfaces returns a batch with a frame from each of the interfaces from. There are n
// interfaces, each with a link type of its own.
func ofInterfaces(n int, from ...uint32) *capture.Batch {
	b := octets(len(from))
	b.Interfaces = make([]capture.Interface, n)
	for i := range b.Interfaces {
		b.Interfaces[i].LinkType = capture.LinkType(1000 + i)
	}
	for i, at := range from {
		b.Frames[i].Interface = at
	}
	return b
}

// TestManyLinkTypes checks that the first link types of packets get filters, in the order
// of the stream, and that types without packets get none.
func TestManyLinkTypes(t *testing.T) {
	f := newFilter(bpf.Filter{Expr: "ip"}, nil)
	f.admit(ofInterfaces(10_000))
	if len(f.byLink) != 0 {
		t.Errorf("%d filters before any packet", len(f.byLink))
	}
	var admitted []*linkFilter
	for i := range uint32(maxLinkTypes) {
		from := 9000 - 3*i
		s := f.admit(ofInterfaces(10_000+int(i), from, 9000, from))
		admitted = append(admitted, s.filters[from])
		if l := s.filters[from]; l == nil || l.over || l.link != capture.LinkType(1000+from) || s.filters[9000] != admitted[0] {
			t.Fatalf("link type number %d: %+v", i, l)
		}
	}
	s := f.admit(ofInterfaces(20_000, 5, 9000, 19_999))
	if len(f.byLink) != maxLinkTypes || s.filters[5] != f.over || s.filters[19_999] != f.over || s.filters[9000] != admitted[0] {
		t.Errorf("beyond the limit: %d filters, %+v", len(f.byLink), s.filters[5])
	}
	b := ofInterfaces(20_000, 5, 19_999, 5)
	if s := sift(f, b); s.err != nil || s.filtered != 3 || len(s.refused) != 1 || !errors.Is(s.first, ErrFilter) {
		t.Errorf("packets beyond the limit: %+v", s)
	}
}

// TestManyLinkTypesOneProgram checks that one program serves all link types.
func TestManyLinkTypesOneProgram(t *testing.T) {
	f := newFilter(evenBytes, nil)
	from := make([]uint32, 200)
	for i := range from {
		from[i] = uint32(i)
	}
	b := ofInterfaces(len(from), from...)
	if s := sift(f, b); s.err != nil || s.filtered != 100 || len(f.byLink) != 1 {
		t.Errorf("%d filters, %d filtered, %v", len(f.byLink), s.filtered, s.err)
	}
}

// TestEachFiltered counts removed packets, and ends if there is no filter.
func TestEachFiltered(t *testing.T) {
	for _, workers := range []int{1, 3} {
		s := newStream(&repeated10{n: 40}, newFilter(evenBytes, nil))
		read := uint64(0)
		s.progress = func(_, _ int64, packets uint64) { read = packets }
		kept := 0
		err := s.Each(context.Background(), workers, func() pipeline.Task {
			return pipeline.InOrder(func(b *capture.Batch) error { kept += len(b.Frames); return nil })
		})
		if err != nil || kept != 200 || s.Filtered() != 200 || read != 400 {
			t.Errorf("%d kept, %d filtered of %d, %v", kept, s.Filtered(), read, err)
		}

		s = newStream(&repeated10{n: 40}, newFilter(bpf.Filter{Program: []xbpf.RawInstruction{{}}}, nil))
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
