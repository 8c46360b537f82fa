// SPDX-License-Identifier: Apache-2.0

package forms

import (
	"fmt"
	"math"
	"testing"
)

// The cells of BDNB12's tables, k = 2: the paper's printed rates. Streams and filters are
// an eighth of the printed size, which leaves the limit of many bits as it is and fits an
// int of 32 bits.
func TestBiasedMatchesThePapersTables(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct {
		elements, share float64
		megabytes       int
		want            [4][2]float64 // RSBF, BSBF, BSBFSD, RLBSBF: FPR and FNR in percent
	}{
		{695e6, .15, 64, [4][2]float64{{2.628, 35.90}, {3.257, 8.755}, {3.548, 3.330}, {3.706, 1.345}}},
		{695e6, .60, 64, [4][2]float64{{12.24, 52.89}, {16.07, 39.98}, {22.45, 19.94}, {22.72, 20.22}}},
		{695e6, .60, 512, [4][2]float64{{.9189, 15.20}, {.9779, 9.882}, {1.033, 4.989}, {1.078, 1.024}}},
		{695e6, .90, 64, [4][2]float64{{16.35, 55.03}, {20.65, 45.71}, {31.10, 24.16}, {30.10, 26.88}}},
		{1e9, .60, 512, [4][2]float64{{1.675, 20.28}, {1.820, 13.57}, {1.969, 6.886}, {2.079, 1.990}}},
	} {
		stream := BiasedStream{Elements: int(c.elements / 8), Distinct: int(c.elements / 8 * c.share)}
		for method := RSBF; method <= RLBSBF; method++ {
			got := Biased(method, 2, c.megabytes*mb/2, stream)
			name := fmt.Sprintf("%g elements, %g distinct, %d MB, method %d", c.elements, c.share, c.megabytes, method)
			near(t, name+": FPR", 100*got.FPR, c.want[method][0], .002)
			tolerance := .0035
			if c.want[method][1] < 2 {
				tolerance = .0085 // simulations are nearer to this package than to the print
			}
			near(t, name+": FNR", 100*got.FNR, c.want[method][1], tolerance)
		}
	}
}

// With only new elements BSBF settles where 1-x = x (1-x^k), where clearings and settings
// balance. For k = 2 that is the golden section, X = 0.382.
func TestBiasedSettles(t *testing.T) {
	rates := Biased(BSBF, 2, 100000, BiasedStream{Elements: 3000000, Distinct: 2999990})
	near(t, "X", rates.X, (3-math.Sqrt(5))/2, 1e-3)
}
