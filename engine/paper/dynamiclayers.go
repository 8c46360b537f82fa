package paper

import "github.com/flowdedup/flowdedup/asm/digest"

// layer is one filter of a [Dynamic]: a [TimerBloom] or an [appendOnly].
type layer interface {
	// advance makes unit the present, unless it is past.
	advance(unit uint64)
	// test reports whether the element is held at present.
	test(d digest.Digest) (seen bool)
	// set makes the element held, as one that came in the given unit.
	set(d digest.Digest, unit uint64)
	// occupied returns how many positions are not zero at present.
	occupied() int
	Bits() int
}

// newLayer returns an empty filter as described by a configuration that was found
// to be good.
func newLayer(c TimerConfig) layer {
	if c.Window > 0 {
		return newTimerBloom(c)
	}
	return &appendOnly{Bloom: Bloom{bits: newCells(c.Timers, 1), m: c.Timers, pos: make([]uint64, c.K)}}
}

// appendOnly is a Bloom filter that knows how many of its bits are set. Time does
// nothing to it.
type appendOnly struct {
	Bloom
	ones int
}

func (a *appendOnly) advance(uint64) {}

func (a *appendOnly) test(d digest.Digest) (seen bool) {
	positions(a.pos, d, uint64(a.m))
	return allSet(&a.bits, a.pos)
}

func (a *appendOnly) set(d digest.Digest, _ uint64) {
	positions(a.pos, d, uint64(a.m))
	for _, i := range a.pos {
		if a.bits.get(i) == 0 {
			a.bits.put(i, 1)
			a.ones++
		}
	}
}

func (a *appendOnly) occupied() int { return a.ones }
