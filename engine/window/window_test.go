// SPDX-License-Identifier: Apache-2.0

package window

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/layout"
)

func TestParseWindow(t *testing.T) {
	for _, c := range []struct {
		text, again string
		want        Window
	}{
		{"1ms", "1ms", Window{Duration: time.Millisecond}},
		{"1h", "1h", Window{Duration: time.Hour}},
		{"60m", "1h", Window{Duration: time.Hour}},
		{"10m", "10m", Window{Duration: 10 * time.Minute}},
		{"1h10m", "1h10m", Window{Duration: 70 * time.Minute}},
		{"1h0m1s", "1h0m1s", Window{Duration: time.Hour + time.Second}},
		{"90s", "1m30s", Window{Duration: 90 * time.Second}},
		{"0.5us", "500ns", Window{Duration: 500}},
		{"n:1000000", "n:1000000", Window{Packets: 1_000_000}},
		{"n:9223372036854775807", "n:9223372036854775807", Window{Packets: math.MaxInt64}},
		{"none", "none", Window{None: true}},
		{"landmark:60m", "landmark:1h", Window{Duration: time.Hour, Landmark: true}},
		{"landmark:n:1000000", "landmark:n:1000000", Window{Packets: 1_000_000, Landmark: true}},
	} {
		got, err := Parse(c.text)
		if err != nil || got != c.want || got.String() != c.again || (got.check() != nil) != got.Landmark {
			t.Errorf("ParseWindow(%q) = %+v (%v), %v, want %+v (%s)", c.text, got, got, err, c.want, c.again)
		}
	}
	for _, text := range []string{
		"", "1", "ms", "0", "0s", "-1ms", "n:", "n:0", "n:-5", "n:1e6", "n:9223372036854775808", "None", "300000h1000000000h", "0.1ns",
		"landmark", "landmark:", "landmark:none", "landmark:0s", "landmark:n:0", "landmark:landmark:1h", "jumping:1h",
	} {
		if w, err := Parse(text); !errors.Is(err, engine.ErrWindow) {
			t.Errorf("ParseWindow(%q) = %+v, %v, want ErrWindow", text, w, err)
		}
	}
}

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
