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

// TestMove moves huge pages to another arena, whose other lines stay. Both arenas can be written as
// before. Parts of pages, pinned and small arenas keep their memory.
func TestMove(t *testing.T) {
	const page = hugePage / LineSize
	open := func(lines int, mark uint64) *Arena {
		a, err := NewArena(lines)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { a.Close() })
		for i := range a.lines {
			a.lines[i] = Line{mark + uint64(i), 7: mark}
		}
		return a
	}
	from, to, small := open(3*page, 1e6), open(4*page, 2e6), open(page/2, 3e6)
	expect := func(a *Arena, at, lines int, want uint64) {
		t.Helper()
		for i, line := range a.lines[at : at+lines] {
			if line[0] != want+uint64(i) {
				t.Fatalf("line %d is %v, want %d in front", at+i, line, want+uint64(i))
			}
		}
	}
	from.Pin()
	if from.Move(0, page, to, page) {
		t.Error("pinned lines moved")
	}
	from.Unpin()
	if from.Move(0, page-1, to, page) || from.Move(0, page, to, 1) || small.Move(0, page/2, to, 0) || from.Move(0, page, small, 0) {
		t.Error("a part of a huge page moved")
	}
	expect(to, 0, 4*page, 2e6)
	if !from.Move(page, 3*page, to, page) {
		t.Skip("this kernel moves no such memory")
	}
	expect(to, 0, page, 2e6)
	expect(to, page, 2*page, 1e6+page)
	expect(to, 3*page, page, 2e6+3*page)
	expect(from, 0, page, 1e6)
	for i := range from.lines {
		from.lines[i][0], to.lines[i][0] = uint64(i), uint64(i)+9e6
	}
	expect(from, 0, 3*page, 0)
	expect(to, 0, 3*page, 9e6)
}

// TestMoveFails moves memory from an address that no page begins at: the target is zero, and can be
// written.
func TestMoveFails(t *testing.T) {
	const page = hugePage / LineSize
	a, err := NewArena(3 * page)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	a.lines[5][0], a.lines[page][0], a.lines[page+1][0] = 1, 1, 1
	if move(a.bytes(0, page), a.bytes(page+1, 2*page+1)) {
		t.Fatal("a part of a page moved")
	}
	if a.lines[5] != (Line{}) || a.lines[page][0] != 1 || a.lines[page+1][0] != 1 {
		t.Errorf("lines %v, %v, %v", a.lines[5], a.lines[page], a.lines[page+1])
	}
	a.lines[5][0] = 2
}
