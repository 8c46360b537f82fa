package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"1d": day, "1d12h": 36 * time.Hour, "0d1ms": time.Millisecond, "7d": 7 * day, "90m": 90 * time.Minute, "-1s": -time.Second, "0": 0,
		"106751d23h": 106751*day + 23*time.Hour,
	} {
		if got, err := parseDuration(text); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "d", "1", "-1d", "+1d", "1.5d", "1h2d", "1d2", "1d-2h", "1d+2h", "1d1d", "106752d", "106751d24h", "99999999999999999999d", "1e3d", "2w",
	} {
		if got, err := parseDuration(text); err == nil {
			t.Errorf("%q was taken for %v", text, got)
		}
	}
}

// TestDaysEverywhere gives days to each flag that takes a duration.
func TestDaysEverywhere(t *testing.T) {
	durations := 0
	for _, cmd := range newRoot(&env{}).Commands() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if kind := f.Value.Type(); kind != "duration" && kind != "window" {
				return
			}
			durations++
			if err := f.Value.Set("1d"); err != nil {
				t.Errorf("%s --%s: %v", cmd.Name(), f.Name, err)
			}
		})
	}
	if durations < 12 {
		t.Errorf("%d flags of durations", durations)
	}
}

// TestDays counts in the same windows with 1d as with 24h.
func TestDays(t *testing.T) {
	in := bundled("router-plain.pcapng")
	want, _, _ := run("distinct", "--json", "--every", "24h", in)
	if got, errs, code := run("distinct", "--json", "--every", "1d", in); code != exitDone || got != want || !strings.Contains(want, "T00:00:00") {
		t.Errorf("exit code %d, %s%s, want %s", code, got, errs, want)
	}
}
