package lab_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/ring"
)

// TestGenerator captures what is injected in several runs.
func TestGenerator(t *testing.T) {
	if err := lab.Enter(); err != nil {
		t.Skip(err)
	}
	if err := lab.Pair("left", "right"); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{lab.MinFrame, 300} {
		frames := captured(t, size)
		want := lab.NewFrame(size)
		for i, got := range frames {
			if lab.Renumber(want, uint64(i)); !bytes.Equal(got, want) {
				t.Fatalf("frame %d is\n%x, want\n%x", i, got, want)
			}
		}
	}
}

func captured(t *testing.T, size int) [][]byte {
	t.Helper()
	// Nobody reads until the end, and every timeout uses up a block.
	src, err := ring.Open(ring.Config{Interfaces: []string{"right"}, RingBytes: 8 << 20, BlockTimeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	g, err := lab.NewGenerator("right", size)
	if err != nil {
		t.Skip("no generator: ", err)
	}
	for _, n := range []int{100, 1, 2000} {
		if err := g.Run(n); err != nil {
			t.Skip("no live frames: ", err)
		}
	}
	injected, err := g.Injected()
	if err != nil || injected == 0 || injected > 2101 {
		t.Fatalf("%d injected: %v", injected, err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	src.Stop()
	var frames [][]byte
	for b := (capture.Batch{}); src.Next(&b) == nil; {
		for i := range b.Frames {
			frames = append(frames, bytes.Clone(b.Data(i)))
		}
	}
	if len(frames) != int(injected) {
		t.Fatalf("%d frames, want %d", len(frames), injected)
	}
	return frames
}
