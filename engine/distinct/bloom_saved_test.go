package distinct

import (
	"github.com/flowdedup/flowdedup/engine/internal/check"
	"testing"
)

func TestScalableBloomSnapshot(t *testing.T) {
	digests := check.Digests(56, 10_000)
	digests = append(digests, digests[:5000]...)
	for _, fpr := range []float64{0.1, 1e-9} {
		cfg := ScalableBloomConfig{FPR: fpr, Memory: 1}
		whole, cut := newScalableBloom(t, cfg), newScalableBloom(t, cfg)
		check.Restarts(t, whole, cut, RestoreScalableBloom, digests)
		if len(whole.filters) < 3 {
			t.Errorf("%d sub-filters test nothing", len(whole.filters))
		}
	}
}

// smallBloom returns a small filter, after some work.
func smallBloom(t testing.TB) *ScalableBloom {
	l := newScalableBloom(t, ScalableBloomConfig{FPR: 0.1, Memory: 1})
	check.Feed(l, check.Digests(51, 3000), 100)
	return l
}

func TestScalableBloomRestore(t *testing.T) { check.Restore(t, smallBloom(t), RestoreScalableBloom) }

func FuzzRestoreScalableBloom(f *testing.F) {
	check.FuzzRestore(f, RestoreScalableBloom, func(l *ScalableBloom) {
		check.Feed(l, check.Repeating(15, 2000), 2000)
		l.Counts()
	}, smallBloom(f))
}

func TestScalableBloomState(t *testing.T) {
	l := newScalableBloom(t, ScalableBloomConfig{FPR: 0.1, Memory: 1})
	check.Feed(l, check.Digests(84, 10_000), 100)
	check.State(t, "filters", l, "d8f4008fcc02e462")
}
