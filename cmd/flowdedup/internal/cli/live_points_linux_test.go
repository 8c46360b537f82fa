package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestLivePointsGoOn knows interfaces again after a restart, in whatever order their
// packets come then, and when they have another index.
func TestLivePointsGoOn(t *testing.T) {
	for name, interfaces := range map[string][]string{
		"any": {"-i", "any"}, "named": {"-i", "spare", "-i", "left1", "-i", "left2"},
	} {
		t.Run(name, func(t *testing.T) {
			lab(t)
			pair(t, "spare", "other")
			pair(t, "left1", "right1")
			pair(t, "left2", "right2")
			args := append(interfaces, "--ignore-outgoing", "--across", "--window", "1h", "--memory", "1MiB", "--json",
				"--state", filepath.Join(t.TempDir(), "state"))
			run := func(to ...string) liveSummary {
				r := startLive(t, args...)
				for _, name := range to {
					sendTo(t, name, liveFrame{id: uint16(name[len(name)-1]), ttl: 64})
				}
				return r.stopAfter(uint64(len(to)))
			}
			if s := run("right1", "right2"); s.PacketsIn != 2 || s.Duplicates != 0 {
				t.Fatalf("the first run: %+v", s)
			}
			// Each comes where it has come before.
			if s := run("right2", "right1"); s.PacketsIn != 4 || s.Duplicates != 0 {
				t.Errorf("in another order: %+v", s)
			}
			ip(t, "link del left2")
			pair(t, "left2", "right2")
			if s := run("right2", "right1"); s.PacketsIn != 6 || s.Duplicates != 0 {
				t.Errorf("with another index: %+v", s)
			}
			r := startLive(t, args...)
			sendTo(t, "right1", liveFrame{id: '2', ttl: 64})
			if s := r.stopAfter(1); s.PacketsIn != 7 || s.Duplicates != 1 {
				t.Errorf("at another interface: %+v", s)
			}
		})
	}
}

// TestLiveAcrossRefusesOthers does not go on with other interfaces than before, nor with
// the same in another order: the filter knows them by their numbers.
func TestLiveAcrossRefusesOthers(t *testing.T) {
	lab(t)
	pair(t, "left", "right")
	state := filepath.Join(t.TempDir(), "state")
	run := func(args ...string) (int, string) {
		out, err := program(t, append([]string{"live", "--across", "--duration", "1ms", "-q", "--memory", "1MiB", "--state", state}, args...)...).CombinedOutput()
		return exitCodeOf(t, err), string(out)
	}
	if code, out := run("-i", "left", "-i", "right"); code != 0 {
		t.Fatal(out)
	}
	for _, c := range []struct {
		args []string
		text string
	}{
		{[]string{"-i", "left", "-i", "right"}, ""},
		{[]string{"-i", "right", "-i", "left"}, "it was saved with -i left, right, and this run has right, left; "},
		{[]string{"-i", "left"}, "it was saved with -i left, right, and this run has left; "},
		{[]string{"-i", "any"}, "it was saved with -i left, right, and this run has any; "},
	} {
		code, out := run(c.args...)
		if c.text == "" && code == 0 {
			continue
		}
		if code != 1 || c.text == "" || !strings.Contains(out, c.text) || strings.Count(out, "\n") != 1 {
			t.Errorf("%q: exit code %d: %s", c.args, code, out)
		}
	}
}
