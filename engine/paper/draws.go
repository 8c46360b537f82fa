// SPDX-License-Identifier: Apache-2.0

package paper

import (
	"math/bits"
	"math/rand/v2"
)

// draws are the values of a filter's generator. A copy sees the next values before the filter
// draws them: so it knows which cells its random choices will change.
type draws struct {
	values []uint64 // the next values, as far as they were seen
	source rand.PCG // of all later values
	memory []uint64 // of values
}

func newDraws(seed uint64) draws { return draws{source: *newSource(seed)} }

// ahead returns a copy, which serves until the next call. Its first n values are drawn once
// for both.
func (d *draws) ahead(n int) draws {
	if len(d.values) < n {
		if len(d.memory) < 2*n {
			d.memory = make([]uint64, 2*n)
		}
		for i := copy(d.memory, d.values); i < len(d.memory); i++ {
			d.memory[i] = d.source.Uint64()
		}
		d.values = d.memory
	}
	return *d
}

// Uint64 draws a value.
func (d *draws) Uint64() uint64 {
	if len(d.values) == 0 {
		return d.source.Uint64()
	}
	value := d.values[0]
	d.values = d.values[1:]
	return value
}

// below draws a number below n, from 1 on, as [rand.Rand.Uint64N] does with 64-bit ints.
func (d *draws) below(n uint64) uint64 {
	if n&(n-1) == 0 {
		return d.Uint64() & (n - 1)
	}
	high, low := bits.Mul64(d.Uint64(), n)
	for low < n && low < -n%n {
		high, low = bits.Mul64(d.Uint64(), n)
	}
	return high
}
