package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLiveState goes on after an end and after a kill: the filter knows what was kept,
// and the window's counts hold what came before.
func TestLiveState(t *testing.T) {
	lab(t)
	pair(t, "left", "right")
	dir := t.TempDir()
	state, counts := filepath.Join(dir, "state"), filepath.Join(dir, "counts.jsonl")
	args := []string{"-i", "left", "--state", state, "--state-every", "10ms", "--window", "1h", "--memory", "1MiB", "--json",
		"--of", "src,flow", "--every", "8760h", "--reports", counts}
	const n = 100
	frames := burst(n, func(*liveFrame) {})

	r := startLive(t, args...)
	if info, err := os.Stat(state); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the state file: %v, %v", info, err)
	}
	sendTo(t, "right", frames[:n]...)
	if s := r.stopAfter(n); s.PacketsIn != n || s.Duplicates != n/2 {
		t.Fatalf("the first run: %+v", s)
	}

	r = startLive(t, args...)
	sendTo(t, "right", frames...)
	waitFor(t, "a saved state", func() bool { return savedPackets(t, state) == 3*n })
	if err := r.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	r.wait()

	r = startLive(t, args...)
	sendTo(t, "right", frames...)
	if s := r.stopAfter(2 * n); s.PacketsIn != 5*n || s.PacketsOut != n {
		t.Errorf("the third run: %+v", s)
	}
	if text, err := os.ReadFile(counts); err != nil || len(text) > 0 {
		t.Errorf("a window that goes on was told: %v %s", err, text)
	}
}

// savedPackets returns how many packets a state file has counted.
func savedPackets(t *testing.T, name string) uint64 {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var header struct{ Books struct{ Packets uint64 } }
	const prefix = 24
	if err := json.NewDecoder(strings.NewReader(string(content[prefix:]))).Decode(&header); err != nil {
		t.Fatal(err)
	}
	return header.Books.Packets
}

// TestLiveStateRefusals never goes on from a file that does not fit, nor replaces it.
func TestLiveStateRefusals(t *testing.T) {
	lab(t)
	pair(t, "left", "right")
	state := filepath.Join(t.TempDir(), "state")
	run := func(args ...string) (int, string) {
		out, err := program(t, append([]string{"live", "-i", "left", "--duration", "1ms", "-q", "--reports", "/dev/null", "--state", state}, args...)...).CombinedOutput()
		return exitCodeOf(t, err), string(out)
	}
	if code, out := run("--of", "src"); code != 0 {
		t.Fatal(out)
	}
	good, err := os.ReadFile(state)
	if err != nil {
		t.Fatal(err)
	}
	edit := func(at int, to byte) []byte {
		b := append([]byte(nil), good...)
		b[at] = to
		return b
	}
	key := strings.Repeat("42", 32)
	for _, c := range []struct {
		name    string
		content []byte
		args    []string
		text    string
	}{
		{"fits", good, []string{"--of", "src"}, ""},
		{"cut", good[:len(good)-1], []string{"--of", "src"}, "it is damaged"},
		{"empty", nil, []string{"--of", "src"}, "not a state file"},
		{"version", edit(8, 9), []string{"--of", "src"}, "it has version 9"},
		{"bit", edit(len(good)/2, good[len(good)/2]^1), []string{"--of", "src"}, "it is damaged"},
		{"window", good, []string{"--of", "src", "--window", "2ms"}, "it was saved with --window 1ms, and this run has 2ms"},
		{"keys", good, []string{"--of", "src,dst"}, "it was saved with --of src, and this run has src,dst"},
		{"mask", good, []string{"--of", "src", "--mask4", "24"}, "--mask4, --mask6, --vlan"},
		{"secret", good, []string{"--of", "src", "--key", key}, "under another key"},
	} {
		if err := os.WriteFile(state, c.content, 0o600); err != nil {
			t.Fatal(err)
		}
		code, out := run(c.args...)
		if c.text == "" {
			if code != 0 {
				t.Errorf("%s: %s", c.name, out)
			}
			continue
		}
		if code != 1 || !strings.Contains(out, c.text) || strings.Count(out, "\n") != 1 || !strings.Contains(out, "--state "+state) {
			t.Errorf("%s: exit code %d: %s", c.name, code, out)
		}
		if now, err := os.ReadFile(state); err != nil || string(now) != string(c.content) {
			t.Errorf("%s: the file was changed, %v", c.name, err)
		}
	}
	if err := os.Remove(state); err != nil {
		t.Fatal(err)
	}
	if code, out := run("--of", "src", "--key", key); code != 0 {
		t.Fatal(out)
	}
	if code, out := run("--of", "src"); code != 1 || !strings.Contains(out, "give the same key") {
		t.Errorf("without the key: exit code %d: %s", code, out)
	}
}
