package window

import (
	"errors"
	"github.com/flowdedup/flowdedup/engine"
	"math"
	"testing"
	"time"
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
	} {
		got, err := Parse(c.text)
		if err != nil || got != c.want || got.String() != c.again || got.check() != nil {
			t.Errorf("ParseWindow(%q) = %+v (%v), %v, want %+v (%s)", c.text, got, got, err, c.want, c.again)
		}
	}
	for _, text := range []string{
		"", "1", "ms", "0", "0s", "-1ms", "n:", "n:0", "n:-5", "n:1e6", "n:9223372036854775808", "None", "300000h1000000000h", "0.1ns",
	} {
		if w, err := Parse(text); !errors.Is(err, engine.ErrWindow) {
			t.Errorf("ParseWindow(%q) = %+v, %v, want ErrWindow", text, w, err)
		}
	}
}
