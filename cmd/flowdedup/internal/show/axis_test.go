package show

import (
	"math"
	"strings"
	"testing"
)

// TestTicks wants numbers that people write, at both ends and in between.
func TestTicks(t *testing.T) {
	for _, c := range []struct {
		scale     Scale
		low, high float64
		want      string
	}{
		{Log, 1e-5, 0.5, "1e-5 0.0001 0.001 0.01 0.1 1"},
		{Log, 9.999999999999999e-06, 1.0000000000000002e-04, "1e-5 2e-5 5e-5 0.0001"},
		{Log, 3e-12, 0.01, "1e-12 1e-10 1e-8 1e-6 0.0001 0.01"},
		{Log, 5, 5, "1 2 5 10"},
		{Log, 2e5, 3e7, "100000 1e6 1e7 1e8"},
		{Sizes, 1024, 1024, "1 KiB 2 KiB"},
		{Sizes, 20000, 30 << 20, "16 KiB 64 KiB 256 KiB 1 MiB 4 MiB 16 MiB"},
		{Sizes, 0.5, 4, "2^-1 B 1 B 2 B 4 B"},
	} {
		s := Axis{Scale: c.scale}.span(c.low, c.high)
		var got []string
		for _, tick := range s.ticks {
			got = append(got, tick.label)
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("scale %d, %g to %g: %s, want %s", c.scale, c.low, c.high, text, c.want)
		}
	}
}

// TestPlaces puts values between the ticks that they lie between.
func TestPlaces(t *testing.T) {
	for _, c := range []struct {
		scale        Scale
		low, high, v float64
		want         float64
	}{
		{Log, 1e-4, 1, 0.01, 0.5},
		{Sizes, 1024, 4096, 2048, 0.5},
	} {
		s := Axis{Scale: c.scale}.span(c.low, c.high)
		if got := s.at(c.v); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("scale %d: %g lies at %g, want %g", c.scale, c.v, got, c.want)
		}
	}
}

// FuzzAxis holds any values between the ends of an axis whose ticks are few, in order,
// and all different.
func FuzzAxis(f *testing.F) {
	f.Add(0, 1e-300, 1e300)
	f.Add(0, 1e15, 1e15+1)
	f.Add(1, 3.0, 3.0)
	f.Add(1, 1e-300, 1e300)
	const near = 1e-6
	f.Fuzz(func(t *testing.T, scale int, low, high float64) {
		axis := Axis{Scale: Scale(uint(scale) % 2)}
		low, high = min(low, high), max(low, high)
		if !axis.takes(low) || !axis.takes(high) {
			t.Skip()
		}
		s := axis.span(low, high)
		if a, b := s.at(low), s.at(high); !(a >= -near && b <= 1+near) {
			t.Errorf("values lie from %g to %g", a, b)
		}
		if n := len(s.ticks); n < 2 || n > mostTicks+2 {
			t.Errorf("%d ticks", n)
		}
		seen := map[string]bool{}
		for i, tick := range s.ticks {
			if !(tick.at >= -near && tick.at <= 1+near) || i > 0 && tick.at <= s.ticks[i-1].at {
				t.Errorf("tick %s at %g", tick.label, tick.at)
			}
			if seen[tick.label] {
				t.Errorf("two ticks read %s", tick.label)
			}
			seen[tick.label] = true
		}
	})
}
