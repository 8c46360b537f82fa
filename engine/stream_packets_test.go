package engine

import (
	"errors"
	"testing"
)

// Rows keep the bound of other packet filters, and the rest what NewStream makes of no
// bound.
func TestStreamPacketsBound(t *testing.T) {
	for _, method := range StreamMethods() {
		f, err := NewStreamPackets(StreamConfig{Method: method, Memory: 6400})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		stats, want := f.Stats(), mustStream(t, StreamConfig{Method: method, Memory: 6400}).Stats().FPRBound
		rows := method == "lru" || method == "qht" || method == "qqhtd"
		if rows && stats.PredictedFPR > DefaultFPR || !rows && stats.PredictedFPR != want || stats.Method != method {
			t.Errorf("%s: %+v, by itself %g", method, stats, want)
		}
	}
}

func TestStreamPackets(t *testing.T) {
	const ample = 4 << 20
	p := randomPackets(21, 5000, clocks(1000)["jumps"])
	exact, err := NewExactWindow(ExactWindowConfig{Window: Window{None: true}})
	if err != nil {
		t.Fatal(err)
	}
	f, err := NewStreamPackets(StreamConfig{Memory: ample})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want := p.verdicts(exact, 700)
	for i, isCopy := range p.verdicts(f, 700) {
		if isCopy != want[i] {
			t.Fatalf("packet %d: copy %v, want %v", i, isCopy, want[i])
		}
	}
	if s := f.Stats(); s.EvictedLive != 0 || s.SuggestedMemory != 0 || s.MemoryBytes < ample {
		t.Errorf("%+v", s)
	}
	if f, err := NewStreamPackets(StreamConfig{Method: "sbf", Memory: 1}); !errors.Is(err, ErrMemory) || f != nil {
		t.Errorf("%v, %v", f, err)
	}
}

func TestIsStreamMethod(t *testing.T) {
	for _, method := range StreamMethods() {
		if !IsStreamMethod(method) {
			t.Errorf("%s is none", method)
		}
	}
	for _, method := range []string{"", "timed", "exact", "LRU"} {
		if IsStreamMethod(method) {
			t.Errorf("%q is one", method)
		}
	}
}
