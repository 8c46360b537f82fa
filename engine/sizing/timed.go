// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"errors"

	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/window"
	"github.com/flowdedup/flowdedup/layout"
)

// timedRows is window.Timed: lines of six cells with a fingerprint and a time, and spare
// lines for the overflow. Without a window there are no spare lines.
func timedRows(r *request, memory int) (design, error) {
	fpr, err := timedFPR(r)
	if err != nil {
		return design{}, err
	}
	spare := window.SpareLines(memory / lineBits)
	if r.Kind == Unbounded || spare == 0 {
		return windowRows(r, memory, layout.TimedCells, layout.TimedCellBits, design{fpr: fpr})
	}
	lines := memory / lineBits
	d := design{
		parameters: []Parameter{{"lines", lines - spare}, {"spare lines", spare}, {"cells", layout.TimedCells}, {"cell bits", layout.TimedCellBits}},
		bits:       lines * lineBits, fpr: fpr,
	}
	own := float64(lines - spare)
	if r.Kind != Count {
		own /= lateness(r.window / own)
	}
	return r.spareRows(d, window.TimedModel(), own), nil
}

// lateness returns the factor by which elements for late ones raise the load of live elements
// a line. Each counts as half an element, because it is the first to leave.
func lateness(load float64) float64 { return 1 + window.Slack(load)/2 }

// timedFPR asks the filter itself for its bound, which depends on how it divides its
// cells for the requested FPR. If it cannot keep that rate, the result is its lowest
// rate.
func timedFPR(r *request) (float64, error) {
	const lowest = 1e-12 // above the rate of the widest fingerprints
	for _, bound := range []float64{r.FPR, lowest} {
		filter, err := window.NewTimed(window.TimedConfig{Window: r.windowOf(), Memory: lineBits / 8, FPR: bound})
		if errors.Is(err, engine.ErrFPR) {
			continue
		}
		if err != nil {
			return 0, err
		}
		return filter.Stats().PredictedFPR, filter.Close()
	}
	return 0, impossible("timed rows keep no false positive rate of %g", r.FPR)
}
