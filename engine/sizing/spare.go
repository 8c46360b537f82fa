// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"math"
	"sort"
)

// spareAges is how many parts of a window spareTable has.
const spareAges = 16

// spareTable holds the share of elements that timed rows with spare lines have forgotten at
// the age of i+1 parts of a window, for lines with so many live elements on average. It is
// simulated: 400 spare lines of twelve others each, and 3·10⁷ to 3·10⁸ elements, one
// after the other at a steady rate. Shares of fewer than 40 elements are extrapolated as a
// power of the age. TestSpareTable compares some of them with the filter itself.
var spareTable = []struct {
	load      float64
	forgotten [spareAges]float64
}{
	{1.75, [spareAges]float64{5.74e-25, 1.89e-20, 8.31e-18, 6.24e-16, 1.78e-14, 2.74e-13, 2.77e-12, 2.05e-11, 1.2e-10, 5.85e-10, 2.45e-09, 9.03e-09, 3e-08, 9.13e-08, 2.57e-07, 6.77e-07}},
	{2, [spareAges]float64{1.91e-22, 2.32e-18, 5.68e-16, 2.81e-14, 5.8e-13, 6.88e-12, 5.57e-11, 3.41e-10, 1.68e-09, 7.03e-09, 2.56e-08, 8.34e-08, 2.47e-07, 7.27e-07, 1.8e-06, 4.13e-06}},
	{2.25, [spareAges]float64{3.33e-21, 2.96e-17, 6.05e-15, 2.64e-13, 4.93e-12, 5.39e-11, 4.07e-10, 2.35e-09, 1.1e-08, 4.38e-08, 1.53e-07, 4.47e-07, 1.37e-06, 3.62e-06, 8.63e-06, 2e-05}},
	{2.5, [spareAges]float64{1.6e-20, 1.36e-16, 2.7e-14, 1.16e-12, 2.13e-11, 2.3e-10, 1.72e-09, 9.82e-09, 4.57e-08, 1.81e-07, 6.27e-07, 2.01e-06, 5.52e-06, 1.46e-05, 3.55e-05, 8.35e-05}},
	{2.75, [spareAges]float64{2.03e-19, 1.22e-15, 1.99e-13, 7.38e-12, 1.22e-10, 1.2e-09, 8.32e-09, 4.45e-08, 1.95e-07, 7.34e-07, 2.52e-06, 7.29e-06, 1.98e-05, 5.21e-05, 0.00013, 0.000305}},
	{3, [spareAges]float64{1.6e-18, 7.53e-15, 1.06e-12, 3.54e-11, 5.38e-10, 4.98e-09, 3.26e-08, 1.66e-07, 7e-07, 2.42e-06, 8.01e-06, 2.34e-05, 6.57e-05, 0.000175, 0.000429, 0.000984}},
	{3.25, [spareAges]float64{1.45e-18, 9.51e-15, 1.63e-12, 6.25e-11, 1.06e-09, 1.07e-08, 7.56e-08, 4.11e-07, 1.83e-06, 7.2e-06, 2.3e-05, 7.03e-05, 0.0002, 0.000521, 0.00126, 0.00279}},
	{3.5, [spareAges]float64{5.52e-18, 3.29e-14, 5.32e-12, 1.96e-10, 3.22e-09, 3.17e-08, 2.19e-07, 1.17e-06, 5.44e-06, 1.91e-05, 6.35e-05, 0.000197, 0.000549, 0.00141, 0.00328, 0.00705}},
	{3.75, [spareAges]float64{2.06e-17, 1.11e-13, 1.68e-11, 5.94e-10, 9.43e-09, 9.03e-08, 6.1e-07, 3.19e-06, 1.3e-05, 4.81e-05, 0.000165, 0.000505, 0.00139, 0.00344, 0.00775, 0.0159}},
	{4, [spareAges]float64{4.78e-17, 2.57e-13, 3.91e-11, 1.38e-09, 2.19e-08, 2.1e-07, 1.42e-06, 7.52e-06, 3.16e-05, 0.000118, 0.000401, 0.0012, 0.00321, 0.00767, 0.0165, 0.0322}},
	{4.25, [spareAges]float64{2.02e-16, 9.09e-13, 1.25e-10, 4.09e-09, 6.13e-08, 5.61e-07, 3.64e-06, 1.75e-05, 7.18e-05, 0.000276, 0.00091, 0.00265, 0.00685, 0.0157, 0.032, 0.0587}},
	{4.5, [spareAges]float64{2.34e-15, 6.09e-12, 6.05e-10, 1.58e-08, 1.99e-07, 1.57e-06, 7.82e-06, 3.69e-05, 0.000156, 0.000589, 0.00193, 0.00544, 0.0135, 0.0294, 0.0565, 0.0977}},
	{4.75, [spareAges]float64{1.18e-15, 4.79e-12, 6.18e-10, 1.94e-08, 2.82e-07, 2.51e-06, 1.51e-05, 7.2e-05, 0.000324, 0.0012, 0.00382, 0.0105, 0.0247, 0.0507, 0.0921, 0.15}},
	{5, [spareAges]float64{2.03e-15, 8.6e-12, 1.14e-09, 3.64e-08, 5.35e-07, 4.81e-06, 2.78e-05, 0.000145, 0.000636, 0.00233, 0.00719, 0.0188, 0.042, 0.0814, 0.139, 0.213}},
	{5.25, [spareAges]float64{3.31e-15, 1.47e-11, 2e-09, 6.53e-08, 9.76e-07, 8.89e-06, 5.26e-05, 0.000276, 0.00121, 0.00429, 0.0128, 0.0317, 0.0669, 0.122, 0.196, 0.282}},
	{5.5, [spareAges]float64{1.1e-14, 3.94e-11, 4.73e-09, 1.41e-07, 1.97e-06, 1.54e-05, 9.58e-05, 0.000507, 0.00218, 0.00756, 0.0215, 0.0505, 0.1, 0.172, 0.26, 0.354}},
	{5.75, [spareAges]float64{1.58e-14, 6.12e-11, 7.68e-09, 2.37e-07, 3.38e-06, 2.55e-05, 0.000173, 0.000915, 0.0038, 0.0127, 0.0343, 0.0761, 0.143, 0.23, 0.328, 0.424}},
	{6, [spareAges]float64{2.48e-14, 9.87e-11, 1.26e-08, 3.94e-07, 5.68e-06, 4.44e-05, 0.000299, 0.00157, 0.00636, 0.0204, 0.0521, 0.109, 0.192, 0.292, 0.394, 0.488}},
	{6.5, [spareAges]float64{4.79e-14, 2.13e-10, 2.91e-08, 9.5e-07, 1.42e-05, 0.000125, 0.000846, 0.00423, 0.016, 0.0464, 0.105, 0.196, 0.305, 0.415, 0.514, 0.596}},
	{7, [spareAges]float64{1.78e-13, 6.94e-10, 8.76e-08, 2.71e-06, 3.39e-05, 0.00032, 0.00215, 0.0102, 0.035, 0.0904, 0.182, 0.299, 0.419, 0.524, 0.61, 0.679}},
	{7.5, [spareAges]float64{4.45e-13, 1.68e-09, 2.09e-07, 6.38e-06, 8.01e-05, 0.000777, 0.00494, 0.0217, 0.0673, 0.154, 0.276, 0.405, 0.519, 0.612, 0.685, 0.745}},
	{8, [spareAges]float64{7.74e-13, 3.15e-09, 4.07e-07, 1.28e-05, 0.000182, 0.00174, 0.0105, 0.0419, 0.116, 0.234, 0.373, 0.5, 0.602, 0.682, 0.746, 0.799}},
	{9, [spareAges]float64{5.18e-12, 1.77e-08, 2.07e-06, 5.18e-05, 0.000807, 0.00708, 0.0365, 0.117, 0.254, 0.409, 0.543, 0.646, 0.725, 0.787, 0.838, 0.878}},
	{10, [spareAges]float64{1.8e-11, 5.95e-08, 6.82e-06, 0.00019, 0.00292, 0.0226, 0.0943, 0.238, 0.41, 0.557, 0.666, 0.748, 0.812, 0.862, 0.901, 0.929}},
	{12, [spareAges]float64{2.61e-10, 5.82e-07, 5.29e-05, 0.00182, 0.0228, 0.118, 0.308, 0.505, 0.647, 0.748, 0.823, 0.879, 0.919, 0.947, 0.966, 0.979}},
}

// spareMiss returns the probability that timed rows with spare lines have forgotten an
// element at an age, as a share of the window. It interpolates as between powers of the load
// and the age. Lines that are fuller than the table has them forget by the number of others
// that came since.
func spareMiss(load, age float64) float64 {
	last := &spareTable[len(spareTable)-1]
	if load > last.load {
		load, age = last.load, age*load/last.load
	}
	switch {
	case load <= 0 || age <= 0:
		return 0
	case age > 1+1.0/spareAges:
		return 1
	}
	at := sort.Search(len(spareTable)-2, func(i int) bool { return spareTable[i+1].load >= load })
	a, b := &spareTable[at], &spareTable[at+1]
	part := math.Log(load/a.load) / math.Log(b.load/a.load)
	miss := (1-part)*logForgotten(&a.forgotten, age) + part*logForgotten(&b.forgotten, age)
	return math.Min(1, math.Exp(miss))
}

// logForgotten returns the logarithm of a share of the table at an age.
func logForgotten(forgotten *[spareAges]float64, age float64) float64 {
	at := min(max(int(age*spareAges)-1, 0), spareAges-2)
	low, high := math.Log(forgotten[at]), math.Log(forgotten[at+1])
	part := math.Log(age*spareAges/float64(at+1)) / math.Log(float64(at+2)/float64(at+1))
	return low + part*(high-low)
}
