package window

import (
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/layout"
)

func TestDefaultMemory(t *testing.T) {
	floor := layout.Caches().L2 / 2
	for _, c := range []struct {
		window Window
		input  int64
		want   int
	}{
		{Window{Duration: time.Millisecond}, 0, floor},
		{Window{Duration: time.Millisecond}, 1 << 40, floor},
		{Window{Duration: time.Second}, 0, 64_000_000},
		{Window{Duration: time.Hour}, 0, 256 << 20},
		{Window{Duration: time.Hour}, 1, floor},
		{Window{Duration: time.Hour}, 64_000_000, 256_000_000},
		{Window{Packets: 1_000_000}, 0, 256_000_000},
		{Window{Packets: 1}, 0, floor},
		{Window{None: true}, 0, 256 << 20},
		{Window{None: true}, 100, floor},
		{Window{Duration: 1 << 62}, 1 << 62, 256 << 20},
	} {
		if got := DefaultMemory(c.window, c.input); got != max(c.want, floor) {
			t.Errorf("DefaultMemory(%v, %d) = %d, want %d", c.window, c.input, got, max(c.want, floor))
		}
	}
}
