// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"fmt"
	"hash/fnv"
	"maps"
	"math/bits"
	"testing"
	"unsafe"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/line"
	"github.com/flowdedup/flowdedup/engine/internal/bitset"
	"github.com/flowdedup/flowdedup/engine/internal/check"
	"github.com/flowdedup/flowdedup/layout"
)

// streamConfigs are filters of all methods, shapes and widths of cells.
func streamConfigs() (all []Config) {
	for _, method := range []string{"lru", "qht", "qqhtd", "qhtd", "qqht"} {
		for _, s := range shapeTable {
			all = append(all, Config{Method: method, Shape: s.Name})
		}
	}
	for _, method := range []string{"sbf", "rsbf", "bsbf", "bsbfsd", "rlbsbf"} {
		all = append(all, Config{Method: method})
	}
	for _, top := range []int{1, 3, 7, 15} {
		all = append(all, Config{Method: "sbf", Max: top, FPR: 0.1})
	}
	return append(all, Config{Method: "rlbsbf", K: 3}, Config{Method: "rsbf", K: 4, Threshold: 0.5})
}

// forStreams runs a test with all of them, in memory of the given number of lines.
func forStreams(t *testing.T, lines int, test func(t *testing.T, c Config)) {
	t.Helper()
	for _, c := range streamConfigs() {
		c.Memory = lines * layout.LineSize
		t.Run(fmt.Sprintf("%s,%s,K=%d,Max=%d", c.Method, c.Shape, c.K, c.Max), func(t *testing.T) { test(t, c) })
	}
}

// streamVerdicts takes digests through the filter in batches of the sizes that size
// returns, each with words of verdicts that are set before, and returns them as bits.
func streamVerdicts(s *Filter, digests []digest.Digest, size func() int) []uint64 {
	verdicts := make([]uint64, len(digests)/64+1)
	for at := 0; at < len(digests); {
		n := min(size(), len(digests)-at)
		seen := make([]uint64, (n+63)/64)
		for i := range seen {
			seen[i] = 0x5555555555555555
		}
		s.TestAndSet(seen, digests[at:at+n])
		bitset.Or(verdicts, at, seen, n)
		at += n
	}
	return verdicts
}

func constant(n int) func() int { return func() int { return n } }

// Verdicts and memory are pinned: they are the same on every CPU.
func TestGolden(t *testing.T) {
	digests := check.Repeating(8, 20_000)
	got := map[string]string{}
	forStreams(t, 30, func(t *testing.T, c Config) {
		s, h := mustStream(t, c), fnv.New32a()
		fmt.Fprint(h, streamVerdicts(s, digests, constant(700)), s.arena.Lines())
		got[c.Method] += fmt.Sprintf("%08x", h.Sum32())
	})
	want := map[string]string{
		"bsbf":   "b9e51d90",
		"bsbfsd": "07dfb92f",
		"lru":    "31e80d30566e0fabb261fb909e6f7941d68b43aa",
		"qht":    "ff17bcf0a47981460b7b423352f61a0f17d622be",
		"qhtd":   "a578d22af9df7c2b349ec9d9cda68cae268c7202",
		"qqht":   "07c212f3f8eb6a7e3b54ff85654d1deffcbc0780",
		"qqhtd":  "13c64932de9816b7d748dba8127b1519ec8d548f",
		"rlbsbf": "9c8cb10e5f2cd8d2",
		"rsbf":   "b27d395ee9a3b557",
		"sbf":    "c09ccc2d3403bc088d37e32e29278319664dab70",
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Rows of 64-bit fingerprints with room for all elements answer as a set of all does.
func TestExact(t *testing.T) {
	digests := check.Repeating(2, 60_000)
	for _, method := range []string{"lru", "qht", "qqht"} {
		s := mustStream(t, Config{Method: method, Shape: "8x64", Memory: 4 << 20})
		known := map[digest.Digest]bool{}
		got := streamVerdicts(s, digests, constant(5000))
		for i, d := range digests {
			if seen := got[i/64]>>(i%64)&1 == 1; seen != known[d] {
				t.Fatalf("%s: element %d is seen %v, want %v", method, i, seen, known[d])
			}
			known[d] = true
		}
		st := s.Stats()
		if st.Evicted != 0 || st.Occupied != uint64(len(known)) || st.Elements-st.Seen != uint64(len(known)) {
			t.Errorf("%s: %d different elements, but %+v", method, len(known), st)
		}
	}
}

// occupiedCells counts the occupied cells of the lines.
func occupiedCells(s *Filter) (occupied uint64) {
	width := s.params.cellBits()
	for _, line := range s.arena.Lines() {
		if s.params.family() == familyCells {
			occupied += nonZeroCells(&line, width)
			continue
		}
		for _, word := range line {
			for shift := 0; shift < 64; shift += width {
				if word>>shift&(1<<width-1) != 0 {
					occupied++
				}
			}
		}
	}
	return occupied
}

// nonZeroCells counts the cells of a cell line that are not zero: a cell has one bit in
// each of the line's planes.
func nonZeroCells(line *layout.Line, planes int) (cells uint64) {
	words := len(line) / planes
	for w := range words {
		var word uint64
		for plane := range planes {
			word |= line[plane*words+w]
		}
		cells += uint64(bits.OnesCount64(word))
	}
	return cells
}

// The kernels' running counts equal the content.
func TestCounts(t *testing.T) {
	digests := check.Repeating(3, 20_000)
	forStreams(t, 64, func(t *testing.T, c Config) {
		s := mustStream(t, c)
		streamVerdicts(s, digests, constant(4096))
		st, occupied := s.Stats(), occupiedCells(s)
		if st.Occupied != occupied || st.Occupied > st.Cells || st.Fill != float64(occupied)/float64(st.Cells) {
			t.Errorf("%d cells are occupied, but %+v", occupied, st)
		}
		if rows := s.params.family() == familyRows; rows != (st.Evicted > 0) {
			t.Errorf("%d evictions", st.Evicted)
		}
	})
}

// Memory is accounted to the byte: lines, parameters and counts.
func TestMemory(t *testing.T) {
	if bits.UintSize == 32 {
		t.Skip("int is half as long here")
	}
	for _, c := range []struct {
		config Config
		want   int
	}{
		{Config{Memory: 1000}, 15*64 + 24},
		{Config{Method: "bsbf", Memory: 64}, 64 + 40},
		{Config{Method: "sbf", Max: 3, Memory: 640}, 640 + 16 + int(unsafe.Sizeof(line.CellRule{}))},
	} {
		if got := mustStream(t, c.config).Stats().MemoryBytes; got != c.want {
			t.Errorf("%+v: %d bytes, want %d", c.config, got, c.want)
		}
	}
}
