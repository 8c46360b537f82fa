package stable

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestRecency compares with a list that elements are moved to the front of.
func TestRecency(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 63, 64, 65, 2000} {
		order := newRecency(n)
		var list []uint32
		for range n {
			var got, want uint32
			if len(list) == 0 || random.IntN(4) == 0 {
				got, want = order.add(), uint32(len(list))
			} else {
				distance := 1 + random.IntN(len(list))
				got, want = order.use(distance), list[distance-1]
				list = slices.Delete(list, distance-1, distance)
			}
			if got != want {
				t.Fatalf("n = %d: used %d, want %d", n, got, want)
			}
			list = slices.Insert(list, 0, want)
		}
	}
}
