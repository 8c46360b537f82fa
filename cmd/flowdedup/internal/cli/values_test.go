// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"math/bits"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // zones are needed on machines without them, too

	"github.com/spf13/pflag"
)

// TestAssumedNoticed names each size that is assumed, and no other.
func TestAssumedNoticed(t *testing.T) {
	for value, want := range map[string]string{"L2": "flowdedup: noticed: --memory l2: this system does not say the size of that cache; ", "l1": "", "8MiB": ""} {
		fs, errs, bytes := pflag.NewFlagSet("", pflag.ContinueOnError), strings.Builder{}, 0
		fs.Var(NewParsed(&bytes, "", "size", ParseMemory), "memory", "")
		fs.String("interface", "", "")
		if err := fs.Parse([]string{"--memory", value, "--interface", "l2"}); err != nil {
			t.Fatal(err)
		}
		NoticeAssumed(&Env{Stderr: &errs}, fs, func(level string) bool { return level == "l2" })
		if got := errs.String(); !strings.HasPrefix(got, want) || want == "" && got != "" || strings.Count(got, "\n") > 1 {
			t.Errorf("%s: %q", value, got)
		}
	}
}

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

func TestParseZone(t *testing.T) {
	for text, want := range map[string]string{
		"local": "Local", "LOCAL": "Local", "utc": "UTC", "europe/berlin": "Europe/Berlin", "EUROPE/BERLIN": "Europe/Berlin",
		"america/new_york": "America/New_York", "cet": "CET", "Europe/Isle_of_Man": "Europe/Isle_of_Man", "": "", "berlin": "", "../utc": "", "europe/": "",
	} {
		if got, err := parseZone(text); (err != nil) != (want == "") || err == nil && got.String() != want {
			t.Errorf("%q: %v, %v, want %q", text, got, err, want)
		}
	}
}

// TestLongDurations says that a duration is too long, not that it is none.
func TestLongDurations(t *testing.T) {
	for _, text := range []string{"106752d", "106751d24h", "99999999999999999999d", "999999999h", "1h99999999999999999999s", "-2562048h", "1d2562048h"} {
		_, err1 := ParseEvery(text)
		_, err2 := ParseDelay(text)
		_, err3 := ParseLength(text)
		_, err4 := ParseWindow(text)
		_, err5 := ParseWindow("landmark:" + text)
		for i, err := range []error{err1, err2, err3, err4, err5} {
			if !errors.Is(err, errTooLong) {
				t.Errorf("%s: parser %d: %v", text, i+1, err)
			}
		}
	}
	for _, text := range []string{"", "9", "9x", "9d9", "h", "99999999999999999999"} {
		if _, err := ParseDelay(text); errors.Is(err, errTooLong) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestParseAmounts(t *testing.T) {
	for text, want := range map[string]float64{"1": 1, "250k": 250_000, "1.5M": 1.5e6, "2G": 2e9, "1T": 1e12} {
		if got, err := ParseAmount(text); err != nil || got != want {
			t.Errorf("%q: %g, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "k", "M5", "NaN", "Inf", "-1", "0", "1e300", "5kM"} {
		if got, err := ParseAmount(text); err == nil {
			t.Errorf("%q: %g", text, got)
		}
	}
	for text, want := range map[string]float64{"60%": 0.6, "0.6": 0.6, "1": 1, "100%": 1, "1e-9": 1e-9} {
		if got, err := ParseShare(text); err != nil || got != want {
			t.Errorf("%q: %g, %v", text, got, err)
		}
	}
}

// TestMemorySizes refuses what the program cannot address, and says so.
func TestMemorySizes(t *testing.T) {
	n, err := ParseMemory("3GiB")
	if bits.UintSize == 64 {
		if err != nil || int64(n) != 3<<30 {
			t.Errorf("%d, %v", n, err)
		}
		return
	}
	if err == nil || !strings.Contains(err.Error(), "32 bits") {
		t.Errorf("%d, %v", n, err)
	}
}
