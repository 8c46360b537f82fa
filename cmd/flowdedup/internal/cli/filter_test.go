// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// TestFilterLikeTcpdump compares the output of a filtered run with that for a capture
// that tcpdump filtered, for several numbers of workers.
func TestFilterLikeTcpdump(t *testing.T) {
	path := clitest.NeedTcpdump(t)
	for _, c := range []struct{ in, expr string }{
		{"router-in.pcap", "tcp and not port 22"},
		{"router-out.pcap", "ip6"},
		{"loopback-twice.pcap", "udp or icmp"},
		{"router-any-sll2.pcap", "greater 200"},
		{"tunnel-raw.pcap", "ip proto 17"},
	} {
		dir := t.TempDir()
		theirs, want := filepath.Join(dir, "theirs.pcap"), filepath.Join(dir, "want.pcap")
		// Times of pcap files with nanoseconds are kept as they are.
		if out, err := exec.Command(path, "-r", clitest.Bundled(c.in), "--time-stamp-precision=nano", "-w", theirs, "--", c.expr).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		all := clitest.RunDedup(t, cli.ExitDone, clitest.Bundled(c.in))
		ref := clitest.RunDedup(t, cli.ExitDone, theirs, "-w", want)
		for _, workers := range []string{"1", "3"} {
			got := filepath.Join(dir, "got.pcap")
			r := clitest.RunDedup(t, cli.ExitDone, clitest.Bundled(c.in), "--filter", c.expr, "--workers", workers, "-w", got)
			if r.PacketsIn != ref.PacketsIn || r.Duplicates != ref.Duplicates || r.BytesIn != ref.BytesIn ||
				r.Filtered != all.PacketsIn-ref.PacketsIn || r.PacketsIn == 0 || r.Filtered == 0 {
				t.Errorf("%s %q: %+v, want %+v of %d", c.in, c.expr, r, ref, all.PacketsIn)
			}
			if packetsOf(t, path, got) != packetsOf(t, path, want) {
				t.Errorf("%s %q: other packets than from tcpdump's file", c.in, c.expr)
			}
		}
	}
}

// packetsOf returns the packets of a file as tcpdump shows them.
func packetsOf(t *testing.T, path, name string) string {
	t.Helper()
	out, err := exec.Command(path, "-r", name, "-ttnxx", "--time-stamp-precision=nano").Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
