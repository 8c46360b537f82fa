package paper

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"math/rand/v2"
	"testing"
)

func TestCells(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for width := 1; width <= maxCellBits; width++ {
		const count = 131
		c, want := newCells(count, width), make([]uint64, count)
		for range 5000 {
			i := random.Uint64N(count)
			if random.IntN(2) == 0 {
				want[i] = random.Uint64N(c.top + 1)
				c.put(i, want[i])
			} else {
				want[i] -= min(want[i], 1)
				c.decrement(i)
			}
		}
		for i := range want {
			if got := c.get(uint64(i)); got != want[i] {
				t.Fatalf("width %d, cell %d: %d, want %d", width, i, got, want[i])
			}
		}
	}
}

// TestPositions compares with the closed form x + i y + (i^3-i)/6 mod m.
func TestPositions(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	pos := make([]uint64, 40)
	for _, m := range []uint64{1, 2, 7, 64, 1001, 1 << 20, maxBits} {
		for range 50 {
			d := digest.Digest{random.Uint64(), random.Uint64()}
			positions(pos, d, m)
			x, y := scale(d[1], m), scale(d[0], m)
			for i := range pos {
				n := uint64(i)
				if want := (x + n*y + (n*n*n-n)/6) % m; pos[i] != want {
					t.Fatalf("m = %d, position %d: %d, want %d", m, i, pos[i], want)
				}
			}
		}
	}
}
