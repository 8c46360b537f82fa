// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"errors"
	"math"
	"testing"
	"unsafe"
)

func TestArena(t *testing.T) {
	for _, n := range []int{1, 2, 63, 64, 1000, hugePage/LineSize - 1, hugePage / LineSize, hugePage/LineSize + 1, 100_000} {
		a, err := NewArena(n)
		if err != nil {
			t.Fatalf("%d lines: %v", n, err)
		}
		lines := a.Lines()
		if len(lines) != n || cap(lines) != n || a.Bytes() != n*LineSize {
			t.Errorf("%d lines: len %d, cap %d, %d bytes", n, len(lines), cap(lines), a.Bytes())
		}
		align := uintptr(LineSize)
		if a.Bytes() >= hugePage {
			align = hugePage
		}
		if p := uintptr(unsafe.Pointer(&lines[0])); p%align != 0 {
			t.Errorf("%d lines: address %#x is not aligned to %d", n, p, align)
		}
		for i := range lines {
			if lines[i] != (Line{}) {
				t.Fatalf("%d lines: line %d is not zero", n, i)
			}
			lines[i] = Line{0: uint64(i), 7: 1}
		}
		clear(a.Lines())
		if lines[0] != (Line{}) || lines[n-1] != (Line{}) {
			t.Errorf("%d lines: not zero after Clear", n)
		}
		if err := errors.Join(a.Close(), a.Close()); err != nil || a.Lines() != nil || a.Bytes() != 0 {
			t.Errorf("%d lines: after Close: %v, %d bytes", n, err, a.Bytes())
		}
	}
}

// TestArenaPopulate populates lines, which must keep their content, and releases others,
// after which the rest must too.
func TestArenaPopulate(t *testing.T) {
	for _, n := range []int{1, 64, 1000, 5 * hugePage / LineSize / 2} {
		a, err := NewArena(n)
		if err != nil {
			t.Fatal(err)
		}
		lines := a.Lines()
		for i := range lines {
			lines[i][7] = uint64(i)
		}
		a.Populate(0, n/2)
		a.Populate(n/2, n) // starts in another page than the first half ended in, or in the same
		for from := 0; from < n; from += 500 {
			to := min(from+500, n)
			a.Release(from, to)
			for i := to; i < n; i++ {
				if lines[i][7] != uint64(i) {
					t.Fatalf("%d of %d lines released: line %d is %v", to, n, i, lines[i])
				}
			}
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		a.Populate(0, 0)
		a.Release(0, 0)
	}
}

// TestArenaHold keeps lines that somebody holds, whatever the owner does.
func TestArenaHold(t *testing.T) {
	const n = 2 * hugePage / LineSize
	a, err := NewArena(n)
	if err != nil {
		t.Fatal(err)
	}
	for i := range a.Lines() {
		a.Lines()[i][3] = uint64(i)
	}
	one, other := a.Pin(), a.Pin()
	a.Release(0, n)
	if err := errors.Join(a.Close(), a.Close(), a.Unpin()); err != nil || a.Lines() != nil {
		t.Error("after Close: ", err)
	}
	for i := range one {
		if one[i] != (Line{3: uint64(i)}) || &one[i] != &other[i] {
			t.Fatalf("line %d: %v", i, one[i])
		}
	}
	if a.mapping == nil {
		t.Error("the memory was given back while it was held")
	}
	if err := a.Unpin(); err != nil || a.mapping != nil {
		t.Error("after the last Drop: ", err)
	}
}

func TestArenaSizes(t *testing.T) {
	for _, n := range []int{0, -1, math.MinInt, math.MaxInt, maxLines + 1} {
		if _, err := NewArena(n); !errors.Is(err, ErrArenaSize) {
			t.Errorf("%d lines: error %v, want ErrArenaSize", n, err)
		}
	}
	// Where an int has 32 bits, a process may get memory for maxLines.
	if _, err := NewArena(maxLines); err == nil && math.MaxInt > math.MaxInt32 {
		t.Error("more memory than there are addresses: no error")
	}
}
