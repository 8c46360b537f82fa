// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/stream"
	"github.com/flowdedup/flowdedup/engine/window"
)

const (
	replayed   = 1 << 18 // sightings of quick runs, as far as mostRuns allow
	patience   = 1 << 23 // sightings of careful runs, whose mean is to be known within noise
	mostRuns   = 8
	noise      = 1.0 / 20
	leastLines = 26 // of a run for a share of the stream: two spare lines
	// mostRepeated bounds the sightings of a repeated sample.
	mostRepeated = 1 << 21
)

// predictor returns the model or, with a sample, a model whose misses are those of the filter in
// runs on the sample. If they miss nothing, the model's rate stays as far as they do not contradict
// it.
func (m *Method) predictor(careful bool) Model {
	return func(r *Request, bits int) (Design, error) {
		d, err := m.model(r, bits)
		if err != nil || r.Sample == nil || d.FNR == 0 {
			return d, err
		}
		s, lines := r.Sample, float64(d.Bits)/lineBits*r.Sample.share
		if s.share < 1 && lines < leastLines {
			n := math.Ceil(leastLines / lines)
			if n*float64(len(s.elements)) > mostRepeated {
				return d, nil
			}
			s, lines = s.repeated(int(n)), n*lines
		}
		missed, copies, err := m.replay(r, d, s, max(1, min(int(math.Round(lines)), s.distinct)), careful)
		switch {
		case err != nil:
			return d, err
		case missed == 0:
			d.FNR = math.Min(d.FNR, 1/math.Max(1, copies))
		default: // elements that are missed often are missed as often as they come
			d.FNR = missed / copies
			d.FNR = math.Min(1, d.FNR*math.Pow(s.busier, 1-d.FNR))
		}
		return d, nil
	}
}

// replay returns how many copies filters of a design miss that have some lines, and how many copies
// there are, in runs with different digests.
func (m *Method) replay(r *Request, d Design, s *Sample, lines int, careful bool) (missed, copies float64, err error) {
	least := min(mostRuns, 1+replayed/len(s.elements))
	most := least
	if careful {
		least, most = 4, max(4, patience/len(s.elements))
	}
	squares := 0.0
	for run := range most {
		f, err := m.filter(s.window, r.Refresh, d, lines*lineBits/8)
		if err != nil {
			return 0, 0, err
		}
		more, all := s.run(f, uint64(run), r.Refresh)
		missed, squares, copies = missed+more, squares+more*more, copies+all
		if err := f.Close(); err != nil {
			return 0, 0, err
		}
		if n := float64(run + 1); run+1 >= least && (n*squares-missed*missed)/(n-1) <= noise*noise*missed*missed {
			break // the variance of the sum is small
		}
	}
	return missed, copies, nil
}

// filter returns the filter of a design, with the given memory in bytes, for a window.
func (m *Method) filter(w window.Window, refresh bool, d Design, memory int) (engine.PacketFilter, error) {
	switch m.Name {
	case "timed":
		return window.NewTimed(window.TimedConfig{Window: w, Memory: memory, Refresh: refresh})
	case "lru":
		return stream.NewPackets(stream.Config{Method: m.Name, Memory: memory, Shape: fmt.Sprintf("%dx%d", d.Parameters["cells"], d.Parameters["cell bits"])})
	case "sbf":
		return stream.NewPackets(stream.Config{Method: m.Name, Memory: memory, K: d.Parameters["K"], P: d.Parameters["P"], Max: d.Parameters["Max"]})
	default: // coarse, fine
		return window.NewCoarse(window.CoarseConfig{Window: w, Memory: memory, Fine: m.Name == "fine", Refresh: refresh})
	}
}

// run returns how many copies a filter misses, and how many there are. Digests differ by run.
func (s *Sample) run(f engine.PacketFilter, run uint64, refresh bool) (missed, copies float64) {
	const batch = 4096
	rng := rand.New(rand.NewPCG(run, 1))
	digests, began := make([]digest.Digest, s.distinct), slices.Repeat([]int64{calendar.NoTime}, s.distinct)
	for i := range digests {
		digests[i] = digest.Digest{rng.Uint64(), rng.Uint64()}
	}
	some, seen := make([]digest.Digest, batch), make([]uint64, batch/64)
	for from := 0; from < len(s.elements); from += batch {
		elements := s.elements[from:min(from+batch, len(s.elements))]
		for i, element := range elements {
			some[i] = digests[element]
		}
		f.TestAndSet(seen, some[:len(elements)], s.times[from:from+len(elements)], nil)
		for i, element := range elements {
			removed, at := seen[i/64]>>(i%64)&1 != 0, s.times[from+i]
			if s.within(began[element], at) {
				copies++
				if !removed {
					missed++
				}
			}
			if !removed || refresh {
				began[element] = at
			}
		}
	}
	return missed, copies
}
