package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestClosedStdout starts commands without standard output: where results are lost they say
// so and fail, and a run whose results are in a file is none the worse.
func TestClosedStdout(t *testing.T) {
	in := bundled("router-in.pcap")
	out := filepath.Join(t.TempDir(), "out.pcap")
	for _, c := range []struct {
		args []string
		want int
	}{
		{[]string{"distinct", in}, exitFailed},
		{[]string{"inspect", in}, exitFailed},
		{[]string{"compare", in, in}, exitFailed},
		{[]string{"compare", "--quiet", in, in}, exitDone},
		{[]string{"verify", in, in}, exitFailed},
		{[]string{"plan", "--link", "10G", "--window", "10ms"}, exitFailed},
		{[]string{"version"}, exitFailed},
		{[]string{"dedup", in}, exitFailed},
		{[]string{"dedup", in, "-w", out, "--json"}, exitFailed},
		{[]string{"dedup", in, "-w", out}, exitDone},
	} {
		cmd := program(t, c.args...)
		cmd.Args = append([]string{"sh", "-c", `exec "$@" >&-`, "sh", cmd.Path}, cmd.Args[1:]...)
		cmd.Path = "/bin/sh"
		var said strings.Builder
		cmd.Stderr = &said
		got := exitCodeOf(t, cmd.Run())
		if got != c.want || (got == exitFailed) != strings.Contains(said.String(), "standard output is closed") {
			t.Errorf("%q: exit code %d, want %d: %s", c.args, got, c.want, said.String())
		}
	}
}
