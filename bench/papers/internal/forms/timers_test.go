// SPDX-License-Identifier: Apache-2.0

package forms

import (
	"math"
	"testing"
)

func TestEqualTimersLimits(t *testing.T) {
	const m, k, n = 100_000, 8, 9_000
	off := EqualTimers{m, k, 1}.FPR(n)
	near(t, "k' = 1", off, BloomFPR(m, k, n), .002)
	one := math.Pow(-math.Expm1(-float64(k)/m), k)
	near(t, "k' = k, one element", EqualTimers{m, k, k}.FPR(1), one, .001)
	fpr := off
	for atLeast := 2; atLeast <= k; atLeast++ {
		lower := EqualTimers{m, k, atLeast}.FPR(n)
		if !(lower < fpr && lower > 0) {
			t.Errorf("%d equal: FPR %g after %g", atLeast, lower, fpr)
		}
		fpr = lower
	}
	if fpr > n*one {
		t.Errorf("k' = k: FPR %g above that of %d lone elements, %g", fpr, n, n*one)
	}
	for _, e := range []EqualTimers{{1, 1, 1}, {1, 64, 64}, {1 << 30, 64, 1}} {
		if fpr := e.FPR(3); !(fpr >= 0 && fpr <= 1) {
			t.Errorf("%+v: FPR %g", e, fpr)
		}
	}
	if fpr := (EqualTimers{9, 2, 1}).FPR(0); fpr != 0 {
		t.Errorf("nothing held: FPR %g", fpr)
	}
}
