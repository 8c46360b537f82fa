package theory

import "math"

// LandmarkErrors returns the expected number of false positives in a landmark window
// of n distinct elements with d hash functions that share m bits:
//
//	sum for i = 1 .. n of (1-e^(-d(i-1)/m))^d
//
// (MAE05, section 5.2.2.) It is n times [LandmarkRate] but for the ends of the sum,
// which are corrected for; the error is below 1e-6 for n >= 100. Domain:
// m >= 1, d >= 1, n >= 1.
func LandmarkErrors(m, d, n int) (float64, error) {
	mean, err := LandmarkRate(m, d, n)
	if err != nil || n == 1 {
		return 0, err // the first element finds all bits clear
	}
	load := float64(d) * float64(n) / float64(m)
	full := -math.Expm1(-load)
	slope := float64(d) * load * math.Pow(full, float64(d-1)) * math.Exp(-load)
	if d == 1 {
		slope -= load
	}
	errors := float64(n)*mean - math.Pow(full, float64(d))/2 + slope/(12*float64(n))
	return max(0, errors), nil
}

// LandmarkRate returns the false positive rate over a whole landmark window in the
// limit of a long one: the mean over x in [0,1] of (1-e^(-d n x/m))^d (MAE05,
// section 5.2.2 over n). It is the rate of the full filter, [BloomFPRApprox],
// averaged while it fills. Domain: m >= 1, d >= 1, n >= 1.
func LandmarkRate(m, d, n int) (float64, error) {
	if err := requireBloom(m, d, n); err != nil {
		return 0, err
	}
	if err := requireAtLeast("n", n, 1); err != nil {
		return 0, err
	}
	return meanFilling(float64(d)*float64(n)/float64(m), d), nil
}

// meanFilling returns the integral over x in [0,1] of (1-e^(-load x))^d. By parts,
// the integral for d-1 less that for d is q^d/(load d) with q = 1-e^-load. So it
// is 1 less the first d terms of a series that adds up to 1, or the sum of the
// others, which keeps the digits of small results.
func meanFilling(load float64, d int) float64 {
	q := -math.Expm1(-load)
	if q > 0.99 {
		sum, power := 1.0, 1.0
		for j := 1; j <= d; j++ {
			power *= q
			sum -= power / (load * float64(j))
		}
		return max(0, sum)
	}
	sum, power := 0.0, math.Pow(q, float64(d))
	for j := d + 1; ; j++ {
		power *= q
		term := power / (load * float64(j))
		sum += term
		if term <= sum*1e-17 {
			return sum
		}
	}
}

// LandmarkBoundRatio returns how many times the bound 2^-d of MAE05, section 5.1, is
// above the error rate of a landmark window, when m/d = n/ln(2): 1.8 for d = 1, 4
// for d = 4, 8.2 for d = 10, 12.4 for d = 16. The paper's "4 to 8 times" (section
// 6.2) is right for d from 4 to 9 or 10. Domain: 1 <= d <= 1000.
func LandmarkBoundRatio(d int) (float64, error) {
	if err := requireAtLeast("d", d, 1); err != nil {
		return 0, err
	}
	if err := requireAtLeast("1000 - d", 1000-d, 0); err != nil {
		return 0, err
	}
	return math.Exp2(-float64(d)) / meanFilling(math.Ln2, d), nil
}
