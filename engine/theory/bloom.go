package theory

import "math"

// BloomFPR returns the false positive rate of a Bloom filter of m bits shared by
// k hash functions after n distinct elements:
//
//	(1 - (1-1/m)^(k n))^k
//
// (DR06, section 2.3; KNPS, Eq. 1.) It takes the k probed bits as independent; the
// true rate is above it by a share in the order of k/m. Domain: m >= 1, k >= 1,
// n >= 0.
func BloomFPR(m, k, n int) (float64, error) {
	if err := requireBloom(m, k, n); err != nil {
		return 0, err
	}
	return math.Pow(powMinus(1/float64(m), float64(k)*float64(n)), float64(k)), nil
}

// BloomFPRApprox returns (1-e^(-k n/m))^k, the limit of [BloomFPR] for large m,
// which it is within O(1/m) of and never above (KNPS, Eq. 2; MAE05, section 5.1).
// Domain: m >= 1, k >= 1, n >= 0.
func BloomFPRApprox(m, k, n int) (float64, error) {
	if err := requireBloom(m, k, n); err != nil {
		return 0, err
	}
	return bloomLimit(float64(k)*float64(n)/float64(m), k), nil
}

// bloomLimit is the false positive rate at a given number of settings per bit.
func bloomLimit(settings float64, k int) float64 {
	return math.Pow(-math.Expm1(-settings), float64(k))
}

func requireBloom(m, k, n int) error {
	if err := requireAtLeast("m", m, 1); err != nil {
		return err
	}
	if err := requireAtLeast("k", k, 1); err != nil {
		return err
	}
	return requireAtLeast("n", n, 0)
}

// BloomOptimalK returns the whole k for which [BloomFPRApprox] is smallest: one of
// the two neighbours of ln(2) m/n, at least 1 (DR06, section 2.3). Rounding to
// the nearest would now and then take the worse neighbour. Domain: m >= 1,
// n >= 1.
func BloomOptimalK(m, n int) (int, error) {
	if err := requireAtLeast("m", m, 1); err != nil {
		return 0, err
	}
	if err := requireAtLeast("n", n, 1); err != nil {
		return 0, err
	}
	low := max(1, int(math.Ln2*float64(m)/float64(n)))
	load := float64(n) / float64(m)
	if logBloomLimit(load, low+1) < logBloomLimit(load, low) {
		return low + 1, nil
	}
	return low, nil
}

// logBloomLimit is the logarithm of the false positive rate, which itself
// underflows at some thousand bits for each element. load is n/m.
func logBloomLimit(load float64, k int) float64 {
	return float64(k) * math.Log(-math.Expm1(-float64(k)*load))
}

// BloomCapacity returns the number of distinct elements at which the false
// positive rate of m bits and k hash functions reaches fpr: -(m/k) ln(1-fpr^(1/k))
// (KNPS, section on dynamic size, Eq. 1 solved for n). Domain: m >= 1, k >= 1,
// 0 < fpr < 1.
func BloomCapacity(m, k int, fpr float64) (float64, error) {
	if err := requireBloom(m, k, 0); err != nil {
		return 0, err
	}
	if err := requireRate("fpr", fpr); err != nil {
		return 0, err
	}
	return -float64(m) / float64(k) * math.Log1p(-math.Pow(fpr, 1/float64(k))), nil
}
