package cli

import (
	"encoding/json"
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
