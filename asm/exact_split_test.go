package asm

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
)

// TestSplitExactLevels splits lines that hold from none to as many cells as fit, at each
// level, with guard pages on either side, and looks for every remainder.
func TestSplitExactLevels(t *testing.T) {
	for _, c := range []struct{ wide, narrow, rest uint }{{16, 16, 14}, {16, 16, 5}, {32, 32, 20}, {32, 16, 15}} {
		kerneltest.ForLevels(t, func(t *testing.T) {
			for _, front := range []bool{false, true} {
				for lines := range 40 {
					rng := rand.New(rand.NewPCG(uint64(lines), uint64(c.rest)))
					src := kerneltest.Guarded[[8]uint64](t, lines, front)
					dst, want := kerneltest.Guarded[[8]uint64](t, 2*lines, front), make([][8]uint64, 2*lines)
					for i := range src {
						src[i] = [8]uint64{}
						sides := [2]uint{}
						for cell := range min(uint(i), 512/c.wide) {
							remainder := rng.Uint64N(2 << c.rest)
							put(&src[i], cell, c.wide, remainder+1)
							side := remainder >> c.rest
							put(&want[2*i+int(side)], sides[side], c.narrow, remainder&(1<<c.rest-1)+1)
							sides[side]++
						}
					}
					if SplitExact(dst, src, c.wide, c.narrow, c.rest); !slices.Equal(dst, want) {
						t.Fatalf("%+v, %d lines: %x, want %x", c, lines, dst, want)
					}
				}
			}
		})
	}
}

// put writes a cell.
func put(line *[8]uint64, cell, width uint, value uint64) {
	line[cell*width/64] |= value << (cell * width % 64)
}

func TestSplitExactPanics(t *testing.T) {
	for name, c := range map[string]struct {
		dst, src           int
		wide, narrow, rest uint
	}{
		"not double": {3, 2, 16, 16, 3}, "wide": {4, 2, 64, 16, 3}, "narrower before": {4, 2, 16, 32, 3}, "remainder": {4, 2, 32, 16, 16},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			SplitExact(make([][8]uint64, c.dst), make([][8]uint64, c.src), c.wide, c.narrow, c.rest)
		})
	}
}
