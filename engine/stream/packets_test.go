package stream

import (
	"errors"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/internal/check"
	"github.com/flowdedup/flowdedup/engine/window"
	"testing"
)

// Rows keep the bound of other packet filters, and the rest what New makes of no
// bound.
func TestPacketsBound(t *testing.T) {
	for _, method := range Methods() {
		f, err := NewPackets(Config{Method: method, Memory: 6400})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		stats, want := f.Stats(), mustStream(t, Config{Method: method, Memory: 6400}).Stats().FPRBound
		rows := method == "lru" || method == "qht" || method == "qqhtd"
		if rows && stats.PredictedFPR > engine.DefaultFPR || !rows && stats.PredictedFPR != want || stats.Method != method {
			t.Errorf("%s: %+v, by itself %g", method, stats, want)
		}
	}
}

func TestPackets(t *testing.T) {
	const ample = 4 << 20
	p := check.RandomPackets(21, 5000, check.Clocks(1000)["jumps"])
	exact, err := window.NewExact(window.ExactConfig{Window: window.Window{None: true}})
	if err != nil {
		t.Fatal(err)
	}
	f, err := NewPackets(Config{Memory: ample})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want := p.Verdicts(exact, 700)
	for i, isCopy := range p.Verdicts(f, 700) {
		if isCopy != want[i] {
			t.Fatalf("packet %d: copy %v, want %v", i, isCopy, want[i])
		}
	}
	if s := f.Stats(); s.EvictedLive != 0 || s.SuggestedMemory != 0 || s.MemoryBytes < ample {
		t.Errorf("%+v", s)
	}
	if f, err := NewPackets(Config{Method: "sbf", Memory: 1}); !errors.Is(err, engine.ErrMemory) || f != nil {
		t.Errorf("%v, %v", f, err)
	}
}

func TestIsMethod(t *testing.T) {
	for _, method := range Methods() {
		if !IsMethod(method) {
			t.Errorf("%s is none", method)
		}
	}
	for _, method := range []string{"", "timed", "exact", "LRU"} {
		if IsMethod(method) {
			t.Errorf("%q is one", method)
		}
	}
}
