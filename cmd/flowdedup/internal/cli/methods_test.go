package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/engine"
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
	for _, method := range engine.StreamMethods() {
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
