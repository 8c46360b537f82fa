// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"sync"
	"testing"
	"testing/fstest"
	"unsafe"
)

// TestSystemHuge reads sizes as Linux gives them: of amd64, of arm64 with pages of 64 KiB, of s390x,
// and what it never gives.
func TestSystemHuge(t *testing.T) {
	for text, want := range map[string]int{"2097152\n": 2 << 20, "536870912\n": 512 << 20, "1048576\n": hugePage, "": hugePage, "3145728\n": hugePage, "-1\n": hugePage, "1099511627776\n": hugePage} {
		root := fstest.MapFS{"sys/kernel/mm/transparent_hugepage/hpage_pmd_size": {Data: []byte(text)}}
		if got := systemHugeIn(root); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	if got := systemHugeIn(fstest.MapFS{}); got != hugePage {
		t.Errorf("without a file: %d", got)
	}
}

// TestLargeHuge has huge pages of 32 MiB, of which an arena has two.
func TestLargeHuge(t *testing.T) {
	const page = 32 << 20
	before := systemHuge
	systemHuge = func() int { return page }
	defer func() { systemHuge = before }()
	a, err := NewArena(2 * page / LineSize)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if at := uintptr(unsafe.Pointer(&a.Lines()[0])); at%page != 0 {
		t.Errorf("lines begin at %#x", at)
	}
	last := &a.Lines()[page/LineSize-1]
	last[0] = 1
	if a.Release(0, page/LineSize-1); last[0] != 1 {
		t.Error("a part of a huge page was released")
	}
	if a.Release(0, page/LineSize); last[0] != 0 {
		t.Error("a huge page was not released")
	}
}

// TestArenaReuse closes an arena, and expects a further one of its size in the same
// memory, with zeros. A pinned arena keeps its memory until the last Unpin.
func TestArenaReuse(t *testing.T) {
	const n = 3 * smallArena / LineSize // no other test closes arenas of this size
	newArena := func() *Arena {
		a, err := NewArena(n)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range a.Lines() {
			if line != (Line{}) {
				t.Fatalf("line %d is %v, not zero", i, line)
			}
			a.Lines()[i] = Line{1, 2, 3, 4, 5, 6, 7, 8}
		}
		return a
	}
	pinned := newArena()
	lines := pinned.Pin()
	pinned.Close()
	other := newArena()
	if &other.Lines()[0] == &lines[0] {
		t.Error("an arena has the memory of a pinned one")
	}
	pinned.Unpin()
	again := newArena()
	if &again.Lines()[0] != &lines[0] {
		t.Error("an arena has no memory of a closed one")
	}
	other.Close()
	again.Close()
}

// TestUnusedBound closes arenas of several sizes at once, from several goroutines. None
// has memory of another one, and the unused memory stays within its bound.
func TestUnusedBound(t *testing.T) {
	var goroutines sync.WaitGroup
	for g := range uint64(8) {
		goroutines.Go(func() {
			for round := range 20 {
				fillArenas(t, g, smallArena<<(round%6)/LineSize+1)
			}
		})
	}
	goroutines.Wait()
	unused.mu.Lock()
	defer unused.mu.Unlock()
	total := 0
	for _, b := range unused.all {
		total += len(b)
	}
	if total != unused.bytes || total > maxUnused || total < maxUnused-hugePage {
		t.Errorf("%d bytes are unused, and count as %d", total, unused.bytes)
	}
}

// fillArenas opens arenas, fills them, and closes them.
func fillArenas(t *testing.T, mark uint64, lines int) {
	var arenas [4]*Arena
	for i := range arenas {
		a, err := NewArena(lines)
		if err != nil {
			t.Error(err)
			return
		}
		arenas[i] = a
		for j := range a.Lines() {
			a.Lines()[j][0] += mark<<32 + uint64(i)<<16 + uint64(j)
		}
	}
	for i, a := range arenas {
		for j, line := range a.Lines() {
			if want := (Line{mark<<32 + uint64(i)<<16 + uint64(j)}); line != want {
				t.Errorf("line %d is %v, want %v", j, line, want)
				break
			}
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}
