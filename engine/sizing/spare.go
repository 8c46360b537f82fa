package sizing

import (
	"math"
	"sort"
)

// spareAges is how many parts of a window spareTable has.
const spareAges = 16

// spareTable holds the share of elements that timed rows with spare lines have forgotten at
// the age of i+1 parts of a window, for lines with so many live elements on average. It is
// simulated: 400 spare lines of twelve others each, and 5·10⁷ to 1.5·10⁹ elements, one
// after the other at a steady rate. Shares of fewer than 40 elements are extrapolated as a
// power of the age. TestSpareTable simulates some of them again.
var spareTable = []struct {
	load      float64
	forgotten [spareAges]float64
}{
	{1.75, [spareAges]float64{5.18e-18, 2.97e-15, 1.22e-13, 1.7e-12, 1.31e-11, 6.98e-11, 2.87e-10, 9.74e-10, 2.87e-09, 7.53e-09, 1.8e-08, 4e-08, 8.47e-08, 1.63e-07, 3.09e-07, 6.05e-07}},
	{2, [spareAges]float64{5.36e-17, 2.69e-14, 1.02e-12, 1.35e-11, 9.97e-11, 5.12e-10, 2.04e-09, 6.76e-09, 1.94e-08, 5e-08, 1.07e-07, 2.48e-07, 5.26e-07, 1.08e-06, 2.14e-06, 3.79e-06}},
	{2.25, [spareAges]float64{1.12e-16, 7.39e-14, 3.29e-12, 4.87e-11, 3.94e-10, 2.17e-09, 9.19e-09, 3.21e-08, 9.67e-08, 2.65e-07, 6.78e-07, 1.43e-06, 2.99e-06, 5.7e-06, 1.05e-05, 1.83e-05}},
	{2.5, [spareAges]float64{5.65e-16, 3.78e-13, 1.7e-11, 2.54e-10, 2.06e-09, 1.14e-08, 4.85e-08, 1.7e-07, 5.43e-07, 1.51e-06, 3.38e-06, 7.13e-06, 1.4e-05, 2.56e-05, 4.45e-05, 7.48e-05}},
	{2.75, [spareAges]float64{1.18e-14, 4.88e-12, 1.65e-10, 2.01e-09, 1.4e-08, 6.82e-08, 2.6e-07, 8.3e-07, 2.2e-06, 5.68e-06, 1.32e-05, 2.74e-05, 5.19e-05, 9.45e-05, 0.000162, 0.000267}},
	{3, [spareAges]float64{1.1e-13, 3.45e-11, 9.99e-10, 1.09e-08, 6.93e-08, 3.14e-07, 1.13e-06, 3.07e-06, 8.66e-06, 2.18e-05, 4.78e-05, 9.55e-05, 0.00018, 0.000313, 0.000523, 0.000833}},
	{3.25, [spareAges]float64{3.49e-13, 1.12e-10, 3.27e-09, 3.59e-08, 2.3e-07, 1.05e-06, 3.57e-06, 1.09e-05, 3.07e-05, 7.23e-05, 0.000153, 0.000298, 0.000538, 0.000915, 0.00148, 0.00228}},
	{3.5, [spareAges]float64{6.24e-13, 2.41e-10, 7.83e-09, 9.27e-08, 6.3e-07, 3.24e-06, 1.14e-05, 3.57e-05, 9.23e-05, 0.000212, 0.000435, 0.000817, 0.00143, 0.00236, 0.00371, 0.00558}},
	{3.75, [spareAges]float64{3.04e-12, 9.8e-10, 2.88e-08, 3.16e-07, 2.03e-06, 9.29e-06, 3.49e-05, 0.000102, 0.000253, 0.000554, 0.0011, 0.00201, 0.00341, 0.00546, 0.00834, 0.0122}},
	{4, [spareAges]float64{6.95e-12, 2.37e-09, 7.2e-08, 8.1e-07, 5.85e-06, 2.49e-05, 8.99e-05, 0.000255, 0.000616, 0.00131, 0.00251, 0.00443, 0.00729, 0.0114, 0.0169, 0.0242}},
	{4.25, [spareAges]float64{2.44e-11, 7.33e-09, 2.06e-07, 2.2e-06, 1.47e-05, 6.51e-05, 0.00022, 0.000593, 0.00136, 0.00279, 0.00517, 0.00886, 0.0142, 0.0215, 0.0312, 0.0434}},
	{4.5, [spareAges]float64{8.71e-11, 2.18e-08, 5.49e-07, 5.43e-06, 3.35e-05, 0.000145, 0.000468, 0.00122, 0.00273, 0.00541, 0.00973, 0.0162, 0.0252, 0.0372, 0.0525, 0.0713}},
	{4.75, [spareAges]float64{1.38e-10, 3.9e-08, 1.06e-06, 1.15e-05, 7.2e-05, 0.0003, 0.000929, 0.00233, 0.00505, 0.00969, 0.0169, 0.0273, 0.0414, 0.0595, 0.0818, 0.108}},
	{5, [spareAges]float64{2.69e-10, 7.55e-08, 2.04e-06, 2.45e-05, 0.000143, 0.000572, 0.00171, 0.00415, 0.00868, 0.0161, 0.0273, 0.0428, 0.0632, 0.0886, 0.119, 0.154}},
	{5.25, [spareAges]float64{8.13e-10, 1.86e-07, 4.46e-06, 4.7e-05, 0.000268, 0.00102, 0.00294, 0.00691, 0.014, 0.0251, 0.0413, 0.0631, 0.0907, 0.124, 0.163, 0.207}},
	{5.5, [spareAges]float64{1.85e-09, 3.77e-07, 8.47e-06, 8.57e-05, 0.000471, 0.00173, 0.00476, 0.0108, 0.0211, 0.037, 0.059, 0.0879, 0.123, 0.165, 0.212, 0.263}},
	{5.75, [spareAges]float64{3.97e-09, 7.21e-07, 1.51e-05, 0.000148, 0.000785, 0.00274, 0.00732, 0.016, 0.0304, 0.0517, 0.0804, 0.117, 0.16, 0.21, 0.264, 0.322}},
	{6, [spareAges]float64{7.99e-09, 1.3e-06, 2.56e-05, 0.000245, 0.00124, 0.00417, 0.0107, 0.0228, 0.0419, 0.0692, 0.105, 0.149, 0.2, 0.257, 0.318, 0.381}},
	{6.5, [spareAges]float64{9.44e-09, 2.12e-06, 6.72e-05, 0.000587, 0.00272, 0.00848, 0.0204, 0.0407, 0.0709, 0.112, 0.162, 0.221, 0.285, 0.354, 0.423, 0.492}},
	{7, [spareAges]float64{3.33e-08, 5.73e-06, 0.00015, 0.00121, 0.00517, 0.0151, 0.0341, 0.0645, 0.107, 0.162, 0.226, 0.297, 0.371, 0.447, 0.52, 0.589}},
	{7.5, [spareAges]float64{8.98e-08, 1.27e-05, 0.000302, 0.00223, 0.00884, 0.0242, 0.0518, 0.0936, 0.149, 0.217, 0.293, 0.373, 0.454, 0.532, 0.606, 0.672}},
	{8, [spareAges]float64{2.1e-07, 2.69e-05, 0.000551, 0.00374, 0.0139, 0.0359, 0.0733, 0.127, 0.195, 0.275, 0.36, 0.447, 0.531, 0.609, 0.68, 0.741}},
	{9, [spareAges]float64{6.34e-07, 8.11e-05, 0.00145, 0.00858, 0.0285, 0.0671, 0.127, 0.204, 0.295, 0.393, 0.49, 0.581, 0.663, 0.735, 0.795, 0.844}},
	{10, [spareAges]float64{1.55e-06, 0.000198, 0.00311, 0.0164, 0.0496, 0.108, 0.191, 0.291, 0.399, 0.506, 0.605, 0.693, 0.767, 0.826, 0.873, 0.909}},
	{11, [spareAges]float64{1.77e-06, 0.000417, 0.00578, 0.0276, 0.0771, 0.157, 0.262, 0.38, 0.499, 0.608, 0.703, 0.782, 0.843, 0.89, 0.924, 0.949}},
	{12, [spareAges]float64{3.97e-06, 0.000787, 0.00973, 0.0427, 0.111, 0.214, 0.338, 0.469, 0.591, 0.697, 0.783, 0.849, 0.897, 0.932, 0.956, 0.972}},
	{13, [spareAges]float64{7.9e-06, 0.00137, 0.0153, 0.0618, 0.151, 0.275, 0.416, 0.553, 0.673, 0.77, 0.844, 0.898, 0.935, 0.959, 0.975, 0.985}},
	{14, [spareAges]float64{1.47e-05, 0.00222, 0.0225, 0.085, 0.196, 0.34, 0.491, 0.63, 0.743, 0.83, 0.891, 0.932, 0.959, 0.976, 0.986, 0.992}},
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
