package theory

// Diced is a Bloom filter that is sliced both ways (KNPS, section 3.3): h-v diced
// into horizontal slices that are sliced vertically, v-h diced the other way round.
type Diced struct {
	Bits   int // m in all, at least Slices Inner
	K      int // at least 1
	Slices int // S, at least 1
	Inner  int // S', at least 1
}

func (d Diced) sites() (Sliced, error) {
	if err := requireAtLeast("inner slices", d.Inner, 1); err != nil {
		return Sliced{}, err
	}
	if err := requireWithin("slices", d.Slices, 1, max(1, d.Bits/d.Inner)); err != nil {
		return Sliced{}, err
	}
	return Sliced{Bits: d.Bits, K: d.K, Slices: d.Slices * d.Inner}, nil
}

// HVFPR returns the false positive rate of an h-v diced filter after n distinct
// elements: that of horizontal slices, which the vertical slicing does not change,
// (1-(1-S/m)^(k n/S))^k. KNPS leaves out the outer exponent. Domain: n >= 0.
func (d Diced) HVFPR(n int) (float64, error) {
	if _, err := d.sites(); err != nil {
		return 0, err
	}
	return Sliced{Bits: d.Bits, K: d.K, Slices: d.Slices}.HorizontalFPR(n)
}

// VHFPR returns the false positive rate of a v-h diced filter after n distinct
// elements, (1-(1-S S'/m)^(k n/(S S')))^k (KNPS, section 3.3). Domain: n >= 0.
func (d Diced) VHFPR(n int) (float64, error) {
	sites, err := d.sites()
	if err != nil {
		return 0, err
	}
	return sites.HorizontalFPR(n)
}

// FailedFPR returns the false positive rate when bits at failed sites are taken as
// set, (f/(S S') + (1-f/(S S')) p^(1/k))^k (KNPS, Eq. 7, whose second f/S lacks the
// S'), where p is the rate without failures. It takes an element's bits to be lost
// independently of each other. In a v-h diced filter they are not when several lie in
// the same vertical slice, so the rate is above this for S not far above K. In an
// h-v diced filter they are lost together where failures gather in one horizontal
// slice; this is the rate for failures that are spread evenly. Domain:
// 0 <= failed <= S S', 0 <= p <= 1.
func (d Diced) FailedFPR(failed int, p float64) (float64, error) {
	sites, err := d.sites()
	if err != nil {
		return 0, err
	}
	return sites.VerticalFailedFPR(failed, p)
}
