// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	benchlab "github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// tun makes tun0, an interface without a link header, and returns what takes its packets.
func tun(t *testing.T) *os.File {
	t.Helper()
	file, err := benchlab.Tun("tun0")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = file.Close() }) // it may be closed already
	return file
}

// etherHead is the size of the link header of a clitest.Frame without a tag, which tun
// interfaces lack.
const etherHead = 14

// TestLiveFilterOfEachLink filters interfaces of two link types by one expression, and
// finds copies between them.
func TestLiveFilterOfEachLink(t *testing.T) {
	clitest.NeedTcpdump(t)
	clitest.Lab(t, "left right")
	other := tun(t)
	r := startLive(t, "-i", "left", "-i", "tun0", "--filter", "udp port 6789 and src host 10.0.0.3", "--across", "--window", "10s", "--json")
	const n = 20
	var frames []clitest.Frame
	for i := range 5 * n {
		frames = append(frames, clitest.Frame{ID: uint16(i), Src: byte(i % 5), TTL: 64})
	}
	clitest.SendTo(t, "right", frames...)
	for _, f := range frames {
		if _, err := other.Write(f.Bytes()[etherHead:]); err != nil {
			t.Fatal(err)
		}
	}
	s := r.finish()
	if s.PacketsIn != 2*n || s.Duplicates != n || s.Interfaces[0].Received != n || s.Interfaces[1].Received != n {
		t.Errorf("%+v", s)
	}
}

// TestLiveFilterRefusals checks that errors name the interface that a filter does not
// fit.
func TestLiveFilterRefusals(t *testing.T) {
	t.Parallel()
	clitest.NeedTcpdump(t)
	clitest.Lab(t, "left right")
	tun(t)
	all := filepath.Join(t.TempDir(), "all.bpf")
	if err := os.WriteFile(all, []byte("1\n6 0 0 262144\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	endsAs(t, "-i left --duration 1ms -q", []refusal{
		{"--bpf-file " + all, 0, ""},
		{"-i right --bpf-file " + all, 0, ""},
		{"-i tun0 --bpf-file " + all, 2, "--bpf-file is a program for one link type, but tun0 has RAW and left another: use --filter"},
		{"-i tun0 --filter 'ether host 02:00:00:00:00:01'", 2, "--filter for tun0 (RAW): wrong filter expression: "},
		{"-i tun0 --filter 'udp prot 53'", 2, "--filter for left (ETHERNET): wrong filter expression: "},
		{"ip6 protochain 17", 1, "left: the kernel refuses the filter (it takes no loops, as of protochain"},
		{"-i tun0 udp prot 53", 2, "--filter for left (ETHERNET): wrong filter expression: "},
	})
}

// TestLiveLinkChanges checks that a run ends if an interface returns with another link
// type.
func TestLiveLinkChanges(t *testing.T) {
	t.Parallel()
	clitest.Lab(t)
	file := tun(t)
	r := startLive(t, "-i", "tun0", "--wait")
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	r.Event("down or gone")
	clitest.Pair(t, "tun0", "peer")
	const want = "tun0: the interface came up with another link type: ETHERNET instead of RAW"
	if code := r.Wait(); code != 1 || !strings.Contains(r.Stderr.String(), want) {
		t.Errorf("exit code %d\n%s", code, r.Stderr.String())
	}
}
