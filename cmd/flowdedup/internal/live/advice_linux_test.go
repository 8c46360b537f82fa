// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"net"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	benchlab "github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// TestLiveAdviceMerged follows the advice about merged packets and unfilled checksums. Packets of hosts
// that share the machine were never split, and no offload of the capturing interfaces matters.
func TestLiveAdviceMerged(t *testing.T) {
	t.Parallel()
	a, b := router(t)
	log := func(args ...string) string {
		r := startLive(t, append([]string{"-i", "in", "-i", "out", "--json"}, args...)...)
		converse(a)
		r.finish()
		return r.Stderr.String()
	}
	const unfilled = "use --ignore l4-checksum"
	captured := presentHost(t)
	captured.offloads("gro off lro off", "in", "out")
	if text := log(); !strings.Contains(text, afpacket.NotMerging) || !strings.Contains(text, unfilled) {
		t.Fatalf("no advice, or the receivers' half suffices: %s", text)
	}
	captured.offloads("tso off", "in", "out")
	a.offloads("tso off", "eth0")
	b.offloads("tso off", "eth0")
	if text := log("--ignore", "l4-checksum"); strings.Contains(text, afpacket.NotMerging) || strings.Contains(text, unfilled) {
		t.Errorf("the advice does not help: %s", text)
	}
}

// TestLiveAdviceRing sends more than a ring holds to a run that stands still.
func TestLiveAdviceRing(t *testing.T) {
	t.Parallel()
	clitest.Lab(t, "left right")
	frames := make([][]byte, 3000)
	for i := range frames {
		frames[i] = append(clitest.Frame{ID: uint16(i + 1), TTL: 64}.Bytes(), make([]byte, 1300)...)
	}
	for ring, drops := range map[string]bool{"1MiB": true, "64MiB": false} {
		r := startLive(t, "-i", "left", "--ring-size", ring, "--json")
		r.signal(syscall.SIGSTOP)
		clitest.SendBytes(t, "right", frames...)
		benchlab.Settle()
		r.signal(syscall.SIGCONT)
		s := r.finish()
		if said := strings.Contains(r.Stderr.String(), "use a larger --ring-size"); said != drops || s.dropped() > 0 != drops {
			t.Errorf("%s: %d dropped, said: %v", ring, s.dropped(), said)
		}
	}
}

// TestLiveAdviceSnaplen captures too little to tell packets apart.
func TestLiveAdviceSnaplen(t *testing.T) {
	t.Parallel()
	clitest.Lab(t, "left right")
	for args, want := range map[string]bool{"--snaplen 40": true, "--snaplen 80": false, "--snaplen 40 --across": false} {
		r := startLive(t, append([]string{"-i", "left", "-i", "right", "--json"}, strings.Fields(args)...)...)
		clitest.SendTo(t, "right", make([]clitest.Frame, 40)...)
		r.finish()
		if said := strings.Contains(r.Stderr.String(), "use a larger --snaplen, or --across"); said != want {
			t.Errorf("%s: %s", args, r.Stderr.String())
		}
	}
}

// TestLiveAdviceRights gives a user's program the capabilities and ports that it asks for.
func TestLiveAdviceRights(t *testing.T) {
	t.Parallel()
	needXDP(t)
	setcap, err := exec.LookPath("setcap")
	if err != nil {
		t.Skip(err)
	}
	clitest.IP(t, "link set lo up")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, taken, _ := net.SplitHostPort(listener.Addr().String())
	for _, input := range []string{"left", "erspan://", "left --capture xdp"} {
		program := clitest.CopyProgram(t)
		run := func(more ...string) (string, int) {
			cmd := clitest.Program(t, append(strings.Fields("live --ring-size 1MiB --duration 1ms -i "+input), more...)...)
			cmd.Path, cmd.Dir = program, "/"
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			out, err := cmd.CombinedOutput()
			return string(out), clitest.ExitCode(t, err)
		}
		text, _ := run()
		rights := regexp.MustCompile(`or setcap (\S+) on the program`).FindStringSubmatch(text)
		if rights == nil {
			t.Fatalf("-i %s: %s", input, text)
		}
		if out, err := exec.Command(setcap, rights[1], program).CombinedOutput(); err != nil {
			t.Skipf("%v: %s", err, out)
		}
		if text, code := run(); code != 0 {
			t.Errorf("-i %s with %s: exit code %d: %s", input, rights[1], code, text)
		}
		for port, advice := range map[string]string{"80": "choose a port above 1023", taken: "choose another one", "9469": ""} {
			if text, code := run("--http", "127.0.0.1:"+port); (code == 0) != (advice == "") || !strings.Contains(text, advice) {
				t.Errorf("port %s: exit code %d: %s", port, code, text)
			}
		}
	}
}

// TestLiveAdviceTags follows the advice about VLAN tags in the generic path of AF_XDP: they are beside
// frames, whatever ethtool says of the receiver.
func TestLiveAdviceTags(t *testing.T) {
	t.Parallel()
	needXDP(t)
	clitest.IP(t, "link set left mtu 9000") // no driver takes a program for a peer with longer frames
	clitest.Pair(t, "source", "port")       // a bridge between takes tags off, and keeps them beside frames
	for _, command := range []string{"add name bridge type bridge", "set port master bridge", "set left master bridge", "set bridge up"} {
		clitest.IP(t, "link "+command)
	}
	const n = 20
	lost := func(capture string) (duplicates uint64, warned bool) {
		r := startLive(t, "-i", "right", "--capture", capture, "--identity", "frame", "--window", "10s", "--json")
		for id := range uint16(n) {
			clitest.SendTo(t, "source", clitest.Frame{ID: id + 1, TTL: 64, VLAN: 100}, clitest.Frame{ID: id + 1, TTL: 64, VLAN: 101})
		}
		benchlab.Settle()
		s := r.stop()
		return s.Duplicates, strings.Contains(r.Stderr.String(), "which loses VLAN tags that the kernel keeps beside frames: use --capture afpacket")
	}
	check := func(capture string, want uint64) {
		t.Helper()
		if got, warned := lost(capture); got != want || warned != (want > 0) {
			t.Errorf("%s: %d duplicates, want %d; warned %v", capture, got, want, warned)
		}
	}
	check("xdp", n)
	if out, err := exec.Command("ethtool", "-K", "right", "rxvlan", "off").CombinedOutput(); err != nil {
		t.Skipf("%v: %s", err, out)
	}
	check("xdp", n)
	check("afpacket", 0)
}
