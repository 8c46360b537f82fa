// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	benchlab "github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// needXDP skips a test where AF_XDP does not capture from a pair of interfaces.
func needXDP(t *testing.T) {
	t.Helper()
	clitest.Lab(t, "left right")
	g, err := benchlab.NewGenerator("left", benchlab.MinFrame) // tries in a process of its own
	if err != nil {
		t.Skip(err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	out, err := clitest.Program(t, "live", "-i", "left", "--capture", "xdp", "--duration", "1ms").CombinedOutput()
	if code := clitest.ExitCode(t, err); code != 0 {
		t.Skipf("exit code %d: %s", code, out)
	}
}

// TestLiveXDP runs the tests of live with AF_XDP that depend on how packets come in, and on
// when a capture begins, pauses and ends. What happens to packets then is the same code.
func TestLiveXDP(t *testing.T) {
	t.Parallel()
	needXDP(t)
	for name, test := range map[string]func(*testing.T){
		"copies": TestLiveCopies, "across": TestLiveAcross, "file": TestLiveFile, "forward": TestLiveForward,
		"outage": TestLiveOutage, "moved": TestLiveMoved, "card": TestLiveCard, "forward outage": TestLiveForwardOutage, "forward ends": TestLiveForwardEnds,
		"reports": TestLiveReports, "strip": TestLiveStrip, "state": TestLiveState, "hold": TestLiveHoldLeaves,
		"hold ends": TestLiveHoldEnds, "privileges": TestLivePrivileges, "reader leaves": TestLiveReaderLeaves,
		"prefer": TestLivePrefer, "pipe": TestLivePipe, "balance": TestLiveBalance, "balance streams": TestLiveBalanceStreams,
	} {
		t.Run(name, test)
	}
}

// TestLiveXDPReplay is TestLiveReplay with AF_XDP, which one run at a time can have. The
// interfaces carry no longer frames than those of most captures.
func TestLiveXDPReplay(t *testing.T) {
	t.Parallel()
	needXDP(t)
	for _, name := range []string{"left", "right"} {
		clitest.IP(t, "link set "+name+" mtu 9000")
	}
	names, err := filepath.Glob(clitest.Bundled("*.pcap*"))
	if err != nil {
		t.Fatal(err)
	}
	var frames [][]byte
	for _, f := range replayable(t, names) {
		if len(f) <= 9014 {
			frames = append(frames, f)
		}
	}
	file := pcapOf(t, frames)
	for _, c := range replays {
		r := &replayRun{identity: c.identity, of: c.of, files: c.files, dir: t.TempDir()}
		r.begin(t, strings.Fields(c.more), len(frames))
		sendReplay(t, file)
		r.check(file)
	}
}

// TestLiveXDPUsage checks what AF_XDP is refused for.
func TestLiveXDPUsage(t *testing.T) {
	t.Parallel()
	needXDP(t)
	clitest.Pair(t, "used", "peer")
	clitest.IP(t, "addr add 10.9.9.1/24 dev used")
	endsAs(t, "--capture xdp --duration 1ms", []refusal{
		{"-i used", 2, "used: the host uses the interface and would lose its packets: it has address 10.9.9.1/24: use --capture afpacket, or --take-interface"},
		{"-i used --take-interface", 0, "packets"},
		{"-i lo", 2, "lo: AF_XDP cannot capture from it: it is a loopback interface: use --capture afpacket"},
		{"-i any", 2, "any: AF_XDP cannot capture from it"},
		{"-i nope", 1, "nope: no such interface; available: "},
		{"-i left --rings 2", 2, "ethtool -L"},
		{"-i left --capture nope", 2, "--capture"},
	})
	const nobody = 65534
	cmd := clitest.Program(t, "live", "-i", "left", "--capture", "xdp", "--duration", "1ms")
	cmd.Path, cmd.Dir = clitest.CopyProgram(t), "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); clitest.ExitCode(t, err) != 1 || !strings.Contains(string(out), "left: not permitted: AF_XDP needs CAP_NET_RAW") {
		t.Errorf("as nobody: %v: %s", err, out)
	}
	out, err := clitest.Program(t, "live", "-i", "left", "--take-interface").CombinedOutput()
	if code := clitest.ExitCode(t, err); code != 2 || !strings.Contains(string(out), "--take-interface needs --capture xdp") {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// TestLiveXDPFilter checks that a filter counts as it does in the kernel, and that tags
// are in the frames that it sees.
func TestLiveXDPFilter(t *testing.T) {
	t.Parallel()
	clitest.NeedTcpdump(t)
	needXDP(t)
	const n = 20
	var frames []clitest.Frame
	for i := range 5 * n {
		frames = append(frames, clitest.Frame{ID: uint16(i), Src: byte(i % 5), TTL: 64, VLAN: uint16(i % 2)})
	}
	for filter, want := range map[string]uint64{"src host 10.0.0.3": n / 2, "vlan 1 and src host 10.0.0.3": n / 2, "not udp": 5 * n / 2} {
		r := startLive(t, "-i", "left", "--filter", filter, "--json")
		clitest.SendTo(t, "right", frames...)
		s := r.finish()
		if s.PacketsIn != want || s.Interfaces[0].Received != want || s.dropped() != 0 {
			t.Errorf("%s: %+v", filter, s)
		}
	}
	r := startLive(t, "-i", "left", "--filter", "src host 10.0.0.3", "--count", "3", "--json")
	clitest.SendTo(t, "right", frames...)
	if code := r.Wait(); code != 0 || r.summary(r.Stdout.Bytes()).PacketsIn != 3 {
		t.Errorf("exit code %d, %s", code, r.Stdout.Bytes())
	}
}
