// SPDX-License-Identifier: Apache-2.0

package distinct

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/internal/check"
	"github.com/flowdedup/flowdedup/layout"
)

// Growth passes every size from 64 lines to 2^18 (2^17 in short tests), so both widths of
// cells, and is the same for any batches.
func TestIPv4RowsGrows(t *testing.T) {
	n, lines := 4<<20, 1<<18
	if testing.Short() {
		n, lines = 1<<20, 1<<17
	}
	e, f := newIPv4Rows(t, 0), newIPv4Rows(t, 0)
	seen := make([]uint64, 1000/64+1)
	addrs := make([]uint32, n)
	for i := range addrs {
		addrs[i] = uint32(i) * 0x9e3779b1 // all different
	}
	for pass := range 2 {
		for _, c := range []struct {
			e     *IPv4Rows
			batch int
		}{{e, 1000}, {f, 333}} {
			for at := 0; at < n; at += c.batch {
				part := addrs[at:min(at+c.batch, n)]
				c.e.TestAndSet(seen, part)
				for i := range part {
					if got := seen[i/64]>>(i%64)&1 != 0; got != (pass == 1) {
						t.Fatalf("pass %d, address %d: seen %v", pass, at+i, got)
					}
				}
			}
			if got := c.e.Counts().Distinct; got != uint64(n) {
				t.Fatalf("pass %d: %d distinct", pass, got)
			}
		}
		if a, b := e.Counts(), f.Counts(); a != b {
			t.Fatalf("counts depend on batches: %+v and %+v", a, b)
		}
	}
	if got := len(e.rows.Table.Arena.Lines()); got != lines {
		t.Errorf("%d lines for %d addresses, want %d", got, n, lines)
	}
	// 0.5 % overflow at a load of 3/4; it is less here.
	if overflow := spilledWords(&e.rows); overflow > n/200 {
		t.Errorf("%d of %d addresses overflow", overflow, n)
	}
}

// With the bitmap moved forward to small sizes, over addresses whose images lie close
// together so that few of its pages are touched.
func TestIPv4RowsBitmap(t *testing.T) {
	e := newIPv4Rows(t, 0)
	e.maxLines = 128
	addrs := make([]uint32, 20_000)
	rng := rand.New(rand.NewPCG(25, 26))
	for i := range addrs {
		addrs[i] = rng.Uint32N(10_000) + rng.Uint32N(3)<<26
	}
	e.permute.Invert(addrs, addrs)
	check.Verdicts(t, e, map[uint32]bool{}, addrs, 777)
	if n := len(e.rows.Table.Arena.Lines()); n != layout.BitmapLines {
		t.Fatalf("%d lines, want the bitmap", n)
	}
	if spilledWords(&e.rows) != 0 {
		t.Error("addresses are overflow beside a bitmap")
	}
	if got, want := e.Counts().MemoryBytes, 512<<20; got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
}

var errNoMemory = errors.New("no memory")

func TestIPv4RowsWithoutMemory(t *testing.T) {
	e := newIPv4Rows(t, 0)
	e.rows.NewArena = func(int) (*layout.Arena, error) { return nil, errNoMemory }
	addrs := make([]uint32, 10_000)
	for i := range addrs {
		addrs[i] = uint32(i) / 2
	}
	known := map[uint32]bool{}
	check.Verdicts(t, e, known, addrs, 512)
	if overflow := spilledWords(&e.rows); overflow < 3000 {
		t.Errorf("only %d addresses overflow", overflow)
	}
	if want := 64*64 + 4*8192; e.Counts().MemoryBytes != want {
		t.Errorf("%d bytes, want %d", e.Counts().MemoryBytes, want)
	}
	e.rows.NewArena = layout.NewArena
	for i := range addrs {
		addrs[i] = 1 << 20 * uint32(i)
	}
	check.Verdicts(t, e, known, addrs, 512)
	if len(e.rows.Table.Arena.Lines()) == 64 {
		t.Error("it never grew again")
	}
}

func TestIPv4RowsMemory(t *testing.T) {
	for memory, want := range map[int]int{-1: 4 << 10, 0: 4 << 10, 4096: 4 << 10, 8191: 4 << 10, 8192: 8 << 10, 3 << 20: 2 << 20} {
		if got := newIPv4Rows(t, memory).Counts().MemoryBytes; got != want {
			t.Errorf("memory %d: %d bytes, want %d", memory, got, want)
		}
	}
}

// BenchmarkIPv4Rows fills rows to two thirds, so that they do not grow. At the largest
// size it is a bitmap.
func BenchmarkIPv4Rows(b *testing.B) {
	check.BenchSizes(b, func(b *testing.B, memory int) {
		lines := memory / layout.LineSize
		most := lines * layout.ExactCells(lines) * 2 / 3
		if lines == layout.BitmapLines {
			most = 1 << 28
		}
		var e *IPv4Rows
		empty := func() engine.Counter[uint32] {
			e = newIPv4Rows(b, memory)
			return e
		}
		check.MeasureCounter(b, empty, most, func(d digest.Digest) uint32 { return uint32(d[0]) })
		if got := e.Counts().MemoryBytes / layout.LineSize; got < lines || got > lines+lines/16 {
			b.Errorf("%d lines, not %d", got, lines)
		}
	})
}
