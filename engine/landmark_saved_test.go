package engine

import "testing"

func TestLandmarkSnapshot(t *testing.T) {
	digests := landmarkDigests(56, 10_000)
	digests = append(digests, digests[:5000]...)
	for _, fpr := range []float64{0.1, 1e-9} {
		cfg := LandmarkConfig{FPR: fpr, Memory: 1}
		whole, cut := newLandmark(t, cfg), newLandmark(t, cfg)
		checkRestarts(t, whole, cut, RestoreLandmark, digests)
		if len(whole.filters) < 3 {
			t.Errorf("%d sub-filters test nothing", len(whole.filters))
		}
	}
}

// smallLandmark returns a small filter, after some work.
func smallLandmark(t testing.TB) *Landmark {
	l := newLandmark(t, LandmarkConfig{FPR: 0.1, Memory: 1})
	feed(l, landmarkDigests(51, 3000), 100)
	return l
}

func TestLandmarkRestore(t *testing.T) { checkRestore(t, smallLandmark(t), RestoreLandmark) }

func FuzzRestoreLandmark(f *testing.F) {
	fuzzRestore(f, RestoreLandmark, func(l *Landmark) {
		feed(l, repeating(15, 2000), 2000)
		l.Counts()
	}, smallLandmark(f))
}

func TestLandmarkState(t *testing.T) {
	l := newLandmark(t, LandmarkConfig{FPR: 0.1, Memory: 1})
	feed(l, landmarkDigests(84, 10_000), 100)
	checkState(t, "filters", l, "d8f4008fcc02e462")
}
