package cli

import (
	"encoding/json"
	"github.com/flowdedup/flowdedup/engine/stream"
	"strings"
	"testing"
)

// TestStreamMethods runs every method without a window on a capture that fits its
// memory: those that keep the usual bound find what the exact one finds, the others
// a few packets more.
func TestStreamMethods(t *testing.T) {
	const in = "router-vlan.pcapng"
	want := duplicatesFound(t, in, "exact")
	if want == 0 {
		t.Fatal("no duplicates to find")
	}
	for _, method := range stream.Methods() {
		got := duplicatesFound(t, in, method, "--memory", "1MiB")
		switch method {
		case "lru", "qht", "qqhtd":
			if got != want {
				t.Errorf("%s: %d duplicates, want %d", method, got, want)
			}
		default:
			if got < want*98/100 || got > want*102/100 {
				t.Errorf("%s: %d duplicates, want about %d", method, got, want)
			}
		}
	}
}

// TestMethodParams runs every method that has parameters with some, which the summary shows
// by the rate that follows from them.
func TestMethodParams(t *testing.T) {
	const in = "router-vlan.pcapng"
	want := duplicatesFound(t, in, "exact")
	for _, c := range []struct{ method, params string }{
		{"sbf", "Max=3,K=3,P=60"}, {"sbf", "max=1,k=2"}, {"sbf", "Max=7, K=8, P=100"}, {"rsbf", "K=4"}, {"bsbf", "K=4"},
		{"bsbfsd", "K=4"}, {"rlbsbf", "K=3"}, {"lru", "cells=16,cell-bits=32"}, {"qht", "cells=4"}, {"qqhtd", "cell bits=64"},
	} {
		got := duplicatesFound(t, in, c.method, "--memory", "1MiB", "--param", c.params)
		if got < want*98/100 || got > want*102/100 {
			t.Errorf("%s, %s: %d duplicates, want about %d", c.method, c.params, got, want)
		}
	}
	for _, params := range []string{"K=8", "K=4,counter-bits=16", "K=6,equal=2"} {
		window := []string{"--memory", "1MiB", "--window", "2s"}
		want, got := duplicatesFound(t, in, "exact", window[2:]...), duplicatesFound(t, in, "timers", append(window, "--param", params)...)
		if want == 0 || got < want*98/100 || got > want*102/100 {
			t.Errorf("timers, %s: %d duplicates, want about %d", params, got, want)
		}
	}
}

func TestMethodParamsRefused(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"--method sbf --window none --param Max=4", "Max is 4, must be 1, 3, 7 or 15"},
		{"--method sbf --window none --param K=9", "K is 9, must be from 1 to 4"},
		{"--method sbf --window none --param cells=8", "no parameter cells, it takes K, P, Max"},
		{"--method bsbf --window none --param P=3", "no parameter P, it takes K"},
		{"--method lru --window none --param cells=17", "must be one of 8x8, 32x16"},
		{"--method lru --window none --param cells=8,cell-bits=8 --fpr 1%", "keep 0.0314, not 0.01"},
		{"--method timed --param K=3", "it has no parameters"},
		{"--param K=3", "it has no parameters"},
		{"--method timers --param K=9", "K is 9, must be from 1 to 8"},
		{"--method timers --param counter-bits=12", "must be 8 or 16"},
		{"--method timers --window none", "needs a window"},
		{"--method timers --across", "takes no --across"},
		{"--method timers --fpr 1%", "keeps no rate"},
		{"--method sbf --param K=3", "needs --window none"},
		{"--method sbf --window none --param K", "must be names and whole numbers"},
		{"--method sbf --window none --param K=0", "must be names and whole numbers"},
		{"--method sbf --window none --param K=2,k=3", "has K twice"},
	} {
		_, errs, code := run(append([]string{"dedup", bundled("router-vlan.pcapng")}, strings.Fields(c.args)...)...)
		if code != exitUsage || !strings.Contains(errs, c.want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: exit code %d, stderr %q, want %q", c.args, code, errs, c.want)
		}
	}
}

// duplicatesFound runs dedup without a window under a fixed key.
func duplicatesFound(t *testing.T, in, method string, more ...string) int {
	t.Helper()
	const key = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
	args := []string{"dedup", bundled(in), "--json", "--key", key, "--window", "none", "--method", method}
	out, errs, code := run(append(args, more...)...)
	var s struct {
		Method     string
		Duplicates int
	}
	if err := json.Unmarshal([]byte(out), &s); err != nil || code != 0 || s.Method != method {
		t.Fatalf("%s: exit code %d, %v, stdout %q, stderr %q", method, code, err, out, errs)
	}
	return s.Duplicates
}

// TestDistinctRows counts flows in rows: as they are where all fit, and between bounds
// that hold where they do not.
func TestDistinctRows(t *testing.T) {
	in := bundled("router-plain.pcapng")
	flows := func(args ...string) rowCount {
		t.Helper()
		out, errs, code := run(append([]string{"distinct", "--json", "--every", "none", "--of", "flow", in}, args...)...)
		if code != exitDone {
			t.Fatalf("%s: exit code %d, stderr %q", args, code, errs)
		}
		var last rowCount
		for dec := json.NewDecoder(strings.NewReader(out)); dec.More(); {
			if err := dec.Decode(&last); err != nil {
				t.Fatal(err)
			}
		}
		return last
	}
	exact := flows("--method", "exact")
	if got := flows("--method", "lru", "--memory", "1MiB"); got.Distinct != exact.Distinct || got.Low != got.High || got.Method != "lru" {
		t.Errorf("%+v, want %d", got, exact.Distinct)
	}
	for _, memory := range []string{"64", "256", "1KiB"} {
		got := flows("--method", "lru", "--memory", memory, "--fpr", "5%")
		if got.Low > exact.Distinct || got.High < exact.Distinct || got.FPR > 0.05 {
			t.Errorf("%s: %+v, want %d", memory, got, exact.Distinct)
		}
	}
}

// rowCount is the row of all families.
type rowCount struct {
	Distinct, Low, High uint64
	Method              string
	FPR                 float64
}
