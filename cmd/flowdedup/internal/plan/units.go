// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"math"
	"slices"

	"github.com/flowdedup/flowdedup/engine/sizing"
)

// units format the numbers of an answer. The sizes of a column have the same unit, and its
// rates the same form, in the table and in the text about it.
type units struct {
	memory, needs sizeUnit
	fpr, fnr      rateForm
}

// sizeUnit is a unit of sizes.
type sizeUnit struct {
	bytes float64
	name  string
}

// rateForm writes rates as percentages, or as powers of ten.
type rateForm struct{ powers bool }

// leastPercent is the smallest rate that is written as a percentage.
const leastPercent = 1e-4

// newUnits chooses the unit of the first size of a column, and percentages for rates that
// are large enough.
func newUnits(all []sizing.Candidate) units {
	u := units{
		memory: newSizeUnit(all, func(c *sizing.Candidate) int { return c.Bits }),
		needs:  newSizeUnit(all, func(c *sizing.Candidate) int { return c.NeededBits }),
	}
	for _, c := range all {
		u.fpr.powers = u.fpr.powers || c.FPR > 0 && c.FPR < leastPercent
	}
	return u
}

func newSizeUnit(all []sizing.Candidate, bits func(*sizing.Candidate) int) sizeUnit {
	u := sizeUnit{1, "B"}
	i := slices.IndexFunc(all, func(c sizing.Candidate) bool { return bits(&c) > 0 })
	for _, name := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if i >= 0 && float64(bits(&all[i]))/8 >= 1024*u.bytes {
			u = sizeUnit{1024 * u.bytes, name}
		}
	}
	return u
}

// ofSizing returns the units for package sizing.
func (u units) ofSizing() sizing.Units {
	return sizing.Units{
		Size: func(bits int) string { return u.needs.of(bytesOf(bits)) },
		FPR:  func(rate float64) string { return u.fpr.of(&rate) },
		FNR:  func(rate float64) string { return u.fnr.of(&rate) },
	}
}

// of writes a size with three digits, or more where it has more before the point.
func (u sizeUnit) of(bytes *float64) string {
	if bytes == nil {
		return "-"
	}
	n, after := *bytes/u.bytes, 0
	if n > 0 && n < 99.95 {
		after = min(6, 2-int(math.Floor(math.Log10(n*1.0005))))
	}
	return fmt.Sprintf("%.*f %s", after, n, u.name)
}

// fprOf marks bounds.
func (u units) fprOf(c *candidate) string {
	text := u.fpr.of(c.FPR)
	if c.bounded() {
		return "≤" + text
	}
	return text
}

// of writes a rate. A percentage has four decimals at most.
func (f rateForm) of(rate *float64) string {
	switch {
	case rate == nil:
		return "-"
	case *rate == 0:
		return "0"
	case f.powers && *rate > 0.95:
		return "1"
	case f.powers:
		return fmt.Sprintf("%.1e", *rate)
	case *rate < leastPercent/100:
		return "<0.0001 %"
	case *rate < leastPercent:
		return fmt.Sprintf("%.4f %%", 100**rate)
	}
	return fmt.Sprintf("%.3g %%", 100**rate)
}
