// SPDX-License-Identifier: Apache-2.0

package backlog

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
)

// TestQueue compares a queue with a slice.
func TestQueue(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var q Queue[*int]
	var want []*int
	for range 20_000 {
		switch n := rng.IntN(100); {
		case n < 50:
			item := new(int)
			q.Push(item)
			want = append(want, item)
		case n < 99 && len(want) > 0:
			if got := q.Pop(); got != want[0] {
				t.Fatal("another item was at the front")
			}
			want = want[1:]
		case n == 99 && rng.IntN(10) == 0:
			q.Clear()
			want = nil
		}
		if q.Len() != len(want) {
			t.Fatalf("%d items, want %d", q.Len(), len(want))
		}
		for i := range want {
			if *q.At(i) != want[i] {
				t.Fatalf("item %d is another", i)
			}
		}
	}
	q.Clear()
	for _, item := range q.items {
		if item != nil {
			t.Fatal("an item is kept that was taken off")
		}
	}
}

// records returns a batch of n packets with records of some bytes each, of which the first are
// a head, after as many blocks. Between two of them lie gap bytes of packets that were not
// wanted. Without record the packets lie in place.
func records(n, size, gap, blocks int, record bool) *capture.Batch {
	b := new(capture.Batch)
	b.Interfaces = []capture.Interface{{LinkType: capture.LinkRaw}}
	for i := range blocks {
		b.Blocks = append(b.Blocks, capture.Block{Type: capture.BlockCustom, Offset: uint32(len(b.Buf)), Len: 8})
		b.Buf = fmt.Appendf(b.Buf, "block%3d", i%1000)
	}
	const head = 4
	for i := range n {
		at := uint32(len(b.Buf))
		f := capture.Frame{Time: int64(i), Data: at, CapLen: uint32(size), WireLen: uint32(size)}
		if record {
			f.Record, f.RecordLen = at, uint32(size)
			f.Data, f.CapLen = at+head, uint32(size-head)
		}
		b.Frames = append(b.Frames, f)
		b.Buf = append(b.Buf, bytes.Repeat([]byte{byte(i)}, size)...)
		b.Buf = append(b.Buf, make([]byte, gap)...)
	}
	return b
}

// TestCopy keeps what a batch has, and leaves out the rest where that is most of it.
func TestCopy(t *testing.T) {
	for _, c := range []struct {
		name                 string
		n, size, gap, blocks int
		record               bool
		bytes                int
		copied               bool
	}{
		{"none", 0, 0, 0, 0, true, 0, true},
		{"small", 100, 100, 0, 3, true, 100*100 + 24, true},
		{"large", 1000, 100, 0, 3, true, 1000*100 + 24, false},
		{"blocks", 0, 0, 0, 9000, true, 72_000, false},
		{"half", 1000, 100, 100, 0, true, 1000 * 200, false},
		{"sparse", 1000, 100, 101, 3, true, 1000*100 + 24, true},
		{"sparse and small", 100, 100, 1000, 3, true, 100*100 + 24, true},
		{"in place", 1000, 100, 50, 0, false, 1000 * 100, true},
	} {
		b, to := records(c.n, c.size, c.gap, c.blocks, c.record), records(3, 3, 3, 3, false)
		if got := IsCopied(b); got != c.copied {
			t.Errorf("%s: copied: %v", c.name, got)
		}
		Copy(to, b)
		if len(to.Buf) != c.bytes || len(to.Frames) != c.n || len(to.Blocks) != c.blocks || len(to.Interfaces) != 1 {
			t.Errorf("%s: %d bytes, %d packets, %d blocks", c.name, len(to.Buf), len(to.Frames), len(to.Blocks))
		}
		for i := range b.Frames {
			if !bytes.Equal(to.Data(i), b.Data(i)) || !bytes.Equal(to.Record(i), b.Record(i)) || to.Frames[i].Time != int64(i) {
				t.Fatalf("%s: packet %d is another", c.name, i)
			}
		}
		for i := range b.Blocks {
			k := &to.Blocks[i]
			if want := fmt.Sprintf("block%3d", i%1000); string(to.Buf[k.Offset:k.Offset+k.Len]) != want {
				t.Fatalf("%s: block %d is another", c.name, i)
			}
		}
	}
}

// held is what the test of a Store says of a batch.
type held struct{ batch Batch }

// TestStore copies batches, or exchanges them for others of their source, in bounded memory,
// which is used again.
func TestStore(t *testing.T) {
	var s Store[held]
	var q Queue[*held]
	b := records(100, 1000, 0, 0, true)
	made := 0 // by the source
	for range 200 {
		if b.SourceState == nil {
			*b = *records(100, 1000, 0, 0, true)
			b.SourceState = new(int)
			made++
		}
		k := s.Get()
		if s.Keep(&k.batch, b); !k.batch.Copied && len(k.batch.Frames) > 0 {
			t.Fatal("the content was taken too early")
		}
		s.Take(&k.batch, b)
		if len(k.batch.Frames) != 100 || k.batch.Data(99)[0] != 99 {
			t.Fatal("another content")
		}
		q.Push(k)
	}
	first := (*q.Front()).batch.Memory()
	if most := (exchangeBelow+first-1)/first + 1; made != most {
		t.Errorf("the source has %d batches, want %d", made, most)
	}
	copies := 0
	for q.Len() > 0 {
		k := q.Pop()
		if k.batch.Copied {
			copies++
		}
		s.Put(k, &k.batch)
	}
	if n := s.exchanged.Load(); n != 0 || copies != 200-made+1 {
		t.Errorf("%d bytes are exchanged, %d copies", n, copies)
	}
	if s.spares.bytes == 0 || s.spares.bytes > mostSpare {
		t.Errorf("%d bytes are kept", s.spares.bytes)
	}
	if n := testing.AllocsPerRun(100, func() {
		k := s.Get()
		s.Keep(&k.batch, b)
		s.Take(&k.batch, b)
		s.Put(k, &k.batch)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
