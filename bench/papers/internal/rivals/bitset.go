package rivals

// bitset is an array of bits.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

func (b bitset) has(i uint64) bool { return b[i/64]>>(i%64)&1 != 0 }

func (b bitset) set(i uint64) { b[i/64] |= 1 << (i % 64) }

// clearRange clears n bits from bit from on.
func (b bitset) clearRange(from, n uint64) {
	for n > 0 {
		shift := from % 64
		part := min(64-shift, n)
		b[from/64] &^= ^uint64(0) >> (64 - part) << shift
		from, n = from+part, n-part
	}
}
