package paper

import (
	"math"
	"testing"
)

// Whatever came within the window is reported, at any place in its block.
func TestBDBFMissesNothingInWindow(t *testing.T) {
	for _, window := range []int{1, 2, 59, 60, 61, 600} {
		f := qhtMust[*BDBF](t)(NewBDBF(BDBFConfig{Bits: 3 << 12, CellBits: 3, K: 4, Window: window}))
		for i := range 3000 {
			// Each id comes again after exactly window elements.
			if !f.TestAndSet(digestOf(uint64(i%window))) && i >= window {
				t.Fatalf("window %d: element %d is missed", window, i)
			}
		}
	}
}

// Verdicts against the definition: a counter is not zero if an element of the block or of
// the 2^s-2 blocks before set it.
func TestBDBFAgainstHistory(t *testing.T) {
	for _, c := range []BDBFConfig{
		{Bits: 400, CellBits: 2, K: 2, Window: 50},
		{Bits: 900, CellBits: 3, K: 4, Window: 100},
		{Bits: 901, CellBits: 4, K: 3, Window: 10},
		{Bits: 3, CellBits: 3, K: 3, Window: 7},
	} {
		f := qhtMust[*BDBF](t)(NewBDBF(c))
		blocks := 1<<c.CellBits - 2
		block := (c.Window + blocks - 1) / blocks
		setIn := map[uint64]int{} // counter to the latest block that set it
		positive := 0
		for i := range 5000 {
			d := digestOf(uint64(i * i % 1021))
			pos := make([]uint64, c.K)
			positions(pos, d, uint64(c.Bits/c.CellBits))
			want := true
			for _, counter := range pos {
				last, came := setIn[counter]
				want = want && came && i/block-last <= blocks
			}
			for _, counter := range pos {
				setIn[counter] = i / block
			}
			if seen := f.TestAndSet(d); seen != want {
				t.Fatalf("%+v: element %d: %v, want %v", c, i, seen, want)
			}
			if want {
				positive++
			}
		}
		if positive == 0 || positive == 5000 && c.Bits > 3 {
			t.Errorf("%+v: %d of 5000 elements reported, a poor test", c, positive)
		}
	}
}

// A filter of L different elements reports a new one with chance (1-e^(-kL/m))^k. At
// place p of a block, six whole blocks and p elements are in it. All elements are
// new here, and counted once the window is full: repeated ones would set fewer
// counters, by 1 % of the rate when drawn from 2^18. The bounds are the binomial ones at
// 1e-6 to either side.
func TestBDBFSaturation(t *testing.T) {
	const (
		window, block = 1500, 250
		counters, k   = 4000, 4
		n             = 400_000
	)
	f := qhtMust[*BDBF](t)(NewBDBF(BDBFConfig{Bits: 3 * counters, CellBits: 3, K: k, Window: window}))
	reported := 0
	for i := range uint64(window + block + n) {
		if f.TestAndSet(digestOf(1<<40+i)) && i >= window+block {
			reported++
		}
	}
	want := 0.
	for p := range block {
		want += 1. / block * math.Pow(-math.Expm1(-k*float64(window+p)/counters), k)
	}
	if low, high := binomialInterval(n, want, 1e-6); reported < low || reported > high {
		t.Errorf("%d new elements reported, want %.0f, from %d to %d", reported, want*n, low, high)
	}
}

// The paper's Table 4 with memory and window scaled by 1/16, and a shorter stream: b_DBF's false
// positives go from none to nearly all as memory falls by 100.
func TestBDBFTable4Shape(t *testing.T) {
	newFilter := func(bits int) Filter {
		return qhtMust[*BDBF](t)(NewBDBF(BDBFConfig{Bits: bits / 16, CellBits: 3, K: 4, Window: 6000 / 16}))
	}
	rates := qhtRun(t, 1, 60_000, 1<<18, func(uint64) []Filter {
		return []Filter{newFilter(1e6), newFilter(1e5), newFilter(1e4)}
	})
	t.Log(rates)
	if rates[0].fpr > 0.2 || rates[1].fpr < 5 || rates[1].fpr > 30 || rates[2].fpr < 99 {
		t.Errorf("false positive rates %v", rates)
	}
}
