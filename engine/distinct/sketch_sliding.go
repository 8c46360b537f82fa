// SPDX-License-Identifier: Apache-2.0

package distinct

// SlidingSketch estimates how many distinct elements a window holds that slides in steps. It
// has a Sketch for each step of the window, and merges a step at most once: when the
// oldest steps have left, the elements of all later steps are merged into each of the
// others. From then on the oldest step's sketch covers all these steps, and one more
// sketch covers the steps since. (This is a queue of two stacks.) So the estimate of a
// window costs one merge, however many steps it has.
type SlidingSketch struct {
	steps   []*Sketch // by step modulo their number; nil without elements
	started bool      // there has been a step
	newest  int64     // the latest one
	// merged is the last step into whose sketch the later ones were merged.
	merged int64
	since  Sketch // of the steps after merged
	window Sketch // scratch
	free   []*Sketch
	made   int
}

// NewSlidingSketch returns an empty window of the given number of steps.
func NewSlidingSketch(steps int) *SlidingSketch { return &SlidingSketch{steps: make([]*Sketch, steps)} }

// Reset forgets all elements. The next step may be any.
func (s *SlidingSketch) Reset() {
	for i, one := range s.steps {
		s.recycle(one)
		s.steps[i] = nil
	}
	s.since.Reset()
	s.started = false
}

func (s *SlidingSketch) recycle(one *Sketch) {
	if one != nil {
		one.Reset()
		s.free = append(s.free, one)
	}
}

// oldest returns the first step of the window.
func (s *SlidingSketch) oldest() int64 { return s.newest - int64(len(s.steps)) + 1 }

// at returns where the sketch of a step is.
func (s *SlidingSketch) at(step int64) **Sketch {
	n := int64(len(s.steps))
	return &s.steps[(step%n+n)%n]
}

// Advance moves the window so that step is its last one, unless it was there.
func (s *SlidingSketch) Advance(step int64) {
	if s.started && step <= s.newest {
		return
	}
	if !s.started || step-s.newest >= int64(len(s.steps)) {
		s.Reset()
		s.started, s.newest, s.merged = true, step, step-1
		return
	}
	for s.newest < step {
		s.newest++
		left := s.at(s.newest) // of the step that leaves
		s.recycle(*left)
		*left = nil
		if s.oldest() > s.merged {
			s.mergeSteps()
		}
	}
}

// mergeSteps merges into each step before the newest the steps after it.
func (s *SlidingSketch) mergeSteps() {
	s.merged = s.newest - 1
	var later *Sketch
	for step := s.merged; step >= s.oldest(); step-- {
		one := s.at(step)
		switch {
		case later == nil:
		case *one == nil:
			*one = s.take()
			**one = *later
		default:
			(*one).Merge(later)
		}
		if *one != nil {
			later = *one
		}
	}
	s.since.Reset()
}

func (s *SlidingSketch) take() *Sketch {
	if n := len(s.free); n > 0 {
		one := s.free[n-1]
		s.free = s.free[:n-1]
		return one
	}
	s.made++
	return new(Sketch)
}

// Add adds an element of a step. It moves the window if the step is a later one, and does
// nothing if the step has left it.
func (s *SlidingSketch) Add(step int64, word uint64) {
	s.Advance(step)
	if step < s.oldest() {
		return
	}
	if step > s.merged {
		s.of(step).add(word)
		s.since.add(word)
		return
	}
	// The earlier steps have all elements of this one: an element known here is known
	// there, too.
	for ; step >= s.oldest() && s.of(step).add(word); step-- {
	}
}

// of returns the sketch of a step of the window.
func (s *SlidingSketch) of(step int64) *Sketch {
	one := s.at(step)
	if *one == nil {
		*one = s.take()
	}
	return *one
}

// Estimate returns the estimate of the whole window.
func (s *SlidingSketch) Estimate() Estimate {
	s.window.Reset()
	if first := *s.at(s.oldest()); first != nil && s.oldest() <= s.merged {
		s.window.Merge(first)
	}
	s.window.Merge(&s.since)
	return s.window.Estimate()
}

// Bytes returns the memory of all sketches.
func (s *SlidingSketch) Bytes() int { return (s.made + 2) * SketchSize }
