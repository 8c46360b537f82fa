// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// TestLiveState resumes after an end and after a kill. The filter knows the kept packets,
// and the counts of the window include earlier packets.
func TestLiveState(t *testing.T) {
	t.Parallel()
	clitest.Lab(t, "left right")
	dir := t.TempDir()
	state, counts := filepath.Join(dir, "state"), filepath.Join(dir, "counts.jsonl")
	args := []string{"-i", "left", "--state", state, "--state-every", "10ms", "--window", "1h", "--memory", "1MiB", "--json",
		"--of", "src,flow", "--every", "8760h", "--reports", counts}
	const n = 100
	frames := burst(n, func(*clitest.Frame) {})

	r := startLive(t, args...)
	wait.Until(t, "the first save", func() bool {
		info, err := os.Stat(state)
		return err == nil && info.Mode().Perm() == 0o600
	})
	clitest.SendTo(t, "right", frames[:n]...)
	if s := r.finish(); s.PacketsIn != n || s.Duplicates != n/2 {
		t.Fatalf("the first run: %+v", s)
	}

	r = startLive(t, args...)
	clitest.SendTo(t, "right", frames...)
	wait.Until(t, "a saved state", func() bool { return savedPackets(t, state) == 3*n })
	if err := r.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	r.Wait()

	r = startLive(t, args...)
	clitest.SendTo(t, "right", frames...)
	if s := r.finish(); s.PacketsIn != 5*n || s.PacketsOut != n {
		t.Errorf("the third run: %+v", s)
	}
	if text, err := os.ReadFile(counts); err != nil || len(text) > 0 {
		t.Errorf("a window that goes on was told: %v %s", err, text)
	}
}

// TestLiveStateParts kills runs at any moment, and sends the next run the packets that
// the state does not know. Together they find exactly what one run would, although states
// are copied while packets come in. The states have names of compressed files.
func TestLiveStateParts(t *testing.T) {
	t.Parallel()
	clitest.Lab(t, "left right")
	const n, batch = 30_000, 250
	var frames []clitest.Frame
	for i := range n { // every third one is a copy of an earlier one
		id := i
		if i%3 == 2 {
			id = i / 2
		}
		frames = append(frames, clitest.Frame{ID: uint16(id), Src: byte(id >> 16), TTL: 64})
	}
	want := map[clitest.Frame]bool{}
	for _, f := range frames {
		want[f] = true
	}
	for _, method := range []string{"timed", "lru"} {
		state := filepath.Join(t.TempDir(), "state.GZ")
		args := []string{"-i", "left", "--state", state, "--state-every", "1ms", "--window", "none", "--method", method,
			"--memory", "16MiB", "--ring-size", "128MiB", "--json", "--of", "src", "--every", "8760h", "--reports", os.DevNull}
		sent := 0
		for range 3 {
			r := startLive(t, args...)
			first := sent
			for ; sent < first+n/4; sent += batch {
				clitest.SendTo(t, "right", frames[sent:sent+batch]...)
			}
			wait.Until(t, "a saved state", func() bool { return savedPackets(t, state) > uint64(first+n/8) })
			if err := r.Cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			r.Wait()
			if strings.Contains(r.Stderr.String(), "the kernel dropped") {
				t.Skip("the machine is too slow to take all packets")
			}
			sent = int(savedPackets(t, state))
		}
		r := startLive(t, args...)
		clitest.SendTo(t, "right", frames[sent:]...)
		wait.Until(t, "the last packets", func() bool { return savedPackets(t, state) == n })
		if s := r.stop(); s.PacketsIn != n || s.PacketsOut != uint64(len(want)) {
			t.Errorf("%s: %+v, want %d packets out of %d", method, s, len(want), n)
		}
	}
}

// TestLiveStateFails checks that a run goes on while the state cannot be saved, and
// reports the failure and the recovery once.
func TestLiveStateFails(t *testing.T) {
	t.Parallel()
	clitest.Lab(t, "left right")
	dir := filepath.Join(t.TempDir(), "dir")
	state := filepath.Join(dir, "state")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r := startLive(t, "-i", "left", "--state", state, "--state-every", "1ms", "--json", "--window", "1s")
	wait.Until(t, "the first save", func() bool { _, err := os.Stat(state); return err == nil })
	if err := os.Rename(dir, dir+"-away"); err != nil {
		t.Fatal(err)
	}
	r.Event("state not saved")
	clitest.SendTo(t, "right", burst(10, func(*clitest.Frame) {})...)
	if err := os.Rename(dir+"-away", dir); err != nil {
		t.Fatal(err)
	}
	r.Event("state saved again")
	if s := r.finish(); s.PacketsIn != 20 {
		t.Errorf("%+v", s)
	}
	if n := strings.Count(r.Stderr.String(), "state not saved"); n != 1 {
		t.Errorf("told %d times", n)
	}
	for _, c := range []struct {
		state, text string
		code        int
	}{
		{filepath.Join(dir, "none", "state"), "no such file", cli.ExitFailed}, {dir, "is a directory", cli.ExitUsage},
	} {
		out, err := clitest.Program(t, "live", "-i", "left", "-q", "--state", c.state).CombinedOutput()
		if code := clitest.ExitCode(t, err); code != c.code || !strings.Contains(string(out), c.text) || strings.Count(string(out), "\n") != 1 {
			t.Errorf("%s: exit code %d: %s", c.state, code, out)
		}
	}
}

// savedPackets returns how many packets a state file has counted, 0 without one.
func savedPackets(t *testing.T, name string) uint64 {
	t.Helper()
	content, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	var header struct{ Stats struct{ Packets uint64 } }
	const prefix = 24
	if err := json.NewDecoder(strings.NewReader(string(content[prefix:]))).Decode(&header); err != nil {
		t.Fatal(err)
	}
	return header.Stats.Packets
}

// TestLiveStateRefusals checks that a file that does not fit is neither resumed nor
// replaced.
func TestLiveStateRefusals(t *testing.T) {
	t.Parallel()
	clitest.Lab(t, "left right")
	state := filepath.Join(t.TempDir(), "state")
	run := func(args ...string) (int, string) {
		out, err := clitest.Program(t, append([]string{"live", "-i", "left", "--duration", "1ms", "-q", "--reports", "/dev/null", "--state", state}, args...)...).CombinedOutput()
		return clitest.ExitCode(t, err), string(out)
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
	clitest.Pair(t, "other", "end")
	programs := t.TempDir()
	all, none := filepath.Join(programs, "all"), filepath.Join(programs, "none")
	if err := errors.Join(os.WriteFile(all, []byte("1\n6 0 0 262144\n"), 0o600), os.WriteFile(none, []byte("1\n6 0 0 0\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		content []byte
		args    []string
		text    string
	}{
		{"fits", good, []string{"--of", "src"}, ""},
		{"memory", good, []string{"--of", "src", "--memory", "3MiB"}, ""},
		{"cut", good[:len(good)-1], []string{"--of", "src"}, "it is damaged"},
		{"empty", nil, []string{"--of", "src"}, "not a state file"},
		{"text", []byte("precious text, longer than the head of a state\n"), []string{"--of", "src"}, "not a state file"},
		{"version", edit(8, 9), []string{"--of", "src"}, "it has version 9"},
		{"bit", edit(len(good)/2, good[len(good)/2]^1), []string{"--of", "src"}, "it is damaged"},
		{"window", good, []string{"--of", "src", "--window", "2ms"}, "it was saved with --window 10ms, and this run has 2ms"},
		{"keys", good, []string{"--of", "src,dst"}, "it was saved with --of src, and this run has src,dst"},
		{"mask", good, []string{"--of", "src", "--mask4", "24"}, "with --mask4 32, and this run has 24"},
		{"mask of IPv6", good, []string{"--of", "src", "--mask6", "64"}, "with --mask6 128, and this run has 64"},
		{"tags", good, []string{"--of", "src", "--vlan"}, "with --vlan false, and this run has true"},
		{"snap length", good, []string{"--of", "src", "--snaplen", "96"}, "with --snaplen 0, and this run has 96"},
		{"interface", good, []string{"--of", "src", "-i", "other"}, "with -i left, and this run has left, other"},
		{"program", good, []string{"--of", "src", "--bpf-file", all}, "with --bpf-file none, and this run has sha256:"},
		{"secret", good, []string{"--of", "src", "--key", key}, "with another --key"},
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
		if code != cli.ExitUsage || !strings.Contains(out, c.text) || strings.Count(out, "\n") != 1 || !strings.Contains(out, "--state "+state) {
			t.Errorf("%s: exit code %d: %s", c.name, code, out)
		}
		if now, err := os.ReadFile(state); err != nil || string(now) != string(c.content) {
			t.Errorf("%s: the file was changed, %v", c.name, err)
		}
		aside := state + ".mismatch_001"
		if strings.Contains(c.text, "not a state file") { // it may be anything else
			if code, out := run(append(c.args, "--state-mismatch", "begin")...); code != cli.ExitUsage {
				t.Errorf("%s: begun anew: exit code %d: %s", c.name, code, out)
			}
			continue
		}
		if code, out := run(append(c.args, "--state-mismatch", "begin")...); code != cli.ExitDone {
			t.Errorf("%s: begun anew: exit code %d: %s", c.name, code, out)
		}
		if kept, err := os.ReadFile(aside); err != nil || string(kept) != string(c.content) {
			t.Errorf("%s: the file was not kept, %v", c.name, err)
		}
		if err := os.Remove(aside); err != nil {
			t.Error(err)
		}
		if code, out := run(c.args...); code != cli.ExitDone {
			t.Errorf("%s: what was begun anew is not resumed: %s", c.name, out)
		}
	}
	if err := os.Remove(state); err != nil {
		t.Fatal(err)
	}
	if code, out := run("--of", "src", "--bpf-file", all); code != 0 {
		t.Fatal(out)
	}
	if code, out := run("--of", "src", "--bpf-file", none); code != cli.ExitUsage || !strings.Contains(out, "with --bpf-file sha256:") {
		t.Errorf("another program: exit code %d: %s", code, out)
	}
	if err := os.Remove(state); err != nil {
		t.Fatal(err)
	}
	if code, out := run("--of", "src", "--key", key); code != 0 {
		t.Fatal(out)
	}
	if code, out := run("--of", "src"); code != cli.ExitUsage || !strings.Contains(out, "give the same key") {
		t.Errorf("without the key: exit code %d: %s", code, out)
	}
}

// TestLiveSave merges the files of a run, and compares them with its reports.
func TestLiveSave(t *testing.T) {
	t.Parallel()
	clitest.Lab(t, "left right")
	reports, folder := filepath.Join(t.TempDir(), "counts.jsonl"), t.TempDir()
	r := startLive(t, "-i", "left", "--of", "src,flow", "--every", "1s", "--slide", "0", "--reports", reports,
		"--save", folder, "--sensor", "roof", "--key", clitest.Key, "--json", "--window", "5s")
	clitest.SendTo(t, "right", burst(100, func(*clitest.Frame) {})...)
	r.Event("window closed")
	clitest.SendTo(t, "right", clitest.Frame{ID: 5000, Src: 9, TTL: 64})
	r.finish()
	want := map[string]clitest.DistinctRow{}
	for _, row := range rowsOf[clitest.DistinctRow](t, reports) {
		want[row.Name()] = row
	}
	files, err := filepath.Glob(filepath.Join(folder, "roof-*Z.counts"))
	if err != nil || len(files) < 2 || len(files) > 4 {
		t.Fatalf("files %q, %v", files, err)
	}
	rows := clitest.RunDistinct(t, append([]string{"--merge"}, files...)...)
	if len(rows) != len(want) {
		t.Errorf("%d rows, want %d", len(rows), len(want))
	}
	for _, row := range rows {
		if w := want[row.Name()]; row.Distinct != w.Distinct || row.Packets != w.Packets || row.Sensors != "1/1" {
			t.Errorf("%+v, want %+v", row, w)
		}
	}
}
