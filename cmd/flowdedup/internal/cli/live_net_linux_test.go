// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	benchlab "github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// netSummary is what live says of inputs on a network.
type netSummary struct {
	liveSummary
	Inputs []netInput `json:"interfaces"`
}

type netInput struct {
	Interface string            `json:"interface"`
	Received  uint64            `json:"received"`
	Peers     uint64            `json:"peers"`
	Dropped   uint64            `json:"dropped_peers"`
	Malformed map[string]uint64 `json:"malformed"`
	Unwanted  uint64            `json:"unwanted"`
	Points    int               `json:"points"`
}

func (r *liveRun) netResult(code int) (s netSummary) {
	r.T.Helper()
	if got := r.Wait(); got != code {
		r.T.Fatalf("exit code %d, want %d\n%s", got, code, r.Stderr.String())
	}
	lines := strings.Split(strings.TrimSpace(r.Stdout.String()), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &s); err != nil {
		r.T.Fatal(err, r.Stdout.String())
	}
	return s
}

func mustRead(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestLiveListen joins two peers by --across, as two files would be, and writes what dedup
// writes. It needs no privileges.
func TestLiveListen(t *testing.T) {
	t.Parallel()
	names := []string{bundled("router-in.pcap"), bundled("router-out.pcap")}
	want := runDedup(t, exitDone, append([]string{"--across", "--window", "50ms"}, names...)...)
	port, out := benchlab.FreePort(t), filepath.Join(t.TempDir(), "out.pcapng")
	run := &liveRun{clitest.NewProcess(t, "live", "--json", "-i", "tcp-listen://:"+port, "--across", "--window", "50ms",
		"--merge-wait", "10s", "-w", out, "--count", fmt.Sprint(want.PacketsIn))}
	run.Start()
	run.Event(" started ")
	var conns []net.Conn
	for range names {
		conns = append(conns, dialled(t, port))
	}
	for i, name := range names {
		data := mustRead(t, name)
		go func() {
			_, _ = conns[i].Write(data)
			conns[i].Close()
		}()
	}
	got := run.netResult(exitDone)
	if got.PacketsIn != want.PacketsIn || got.Duplicates != want.Duplicates || want.Duplicates == 0 {
		t.Errorf("%d duplicates of %d packets, want %d of %d", got.Duplicates, got.PacketsIn, want.Duplicates, want.PacketsIn)
	}
	if n := len(framesOf(t, out)); n != int(got.PacketsOut) {
		t.Errorf("%d packets were written, the summary says %d", n, got.PacketsOut)
	}
	if len(got.Inputs) != 1 || got.Inputs[0].Received != want.PacketsIn || got.Inputs[0].Peers != 2 || got.Inputs[0].Dropped != 0 {
		t.Errorf("%+v", got.Inputs)
	}
}

// TestLiveConnect connects to a peer that comes late and leaves, and goes on with what comes
// then. The filter is applied here.
func TestLiveConnect(t *testing.T) {
	t.Parallel()
	tool(t, "tcpdump")
	port, data := benchlab.FreePort(t), mustRead(t, bundled("router-in.pcap"))
	wanted := runDedup(t, exitDone, "--filter", "tcp", bundled("router-in.pcap")).PacketsIn
	const rounds = 3
	run := &liveRun{clitest.NewProcess(t, "live", "--json", "-i", "tcp://127.0.0.1:"+port, "--window", "none", "--count", fmt.Sprint(rounds*wanted), "tcp")}
	run.Start()
	run.Event("connection refused")
	l, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		t.Skip("the port was taken meanwhile")
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write(data)
			conn.Close()
		}
	}()
	got := run.netResult(exitDone)
	// The same packets come again, each time as those of one capture point.
	if got.PacketsIn != rounds*wanted || got.Inputs[0].Peers < rounds || got.PacketsOut > wanted {
		t.Errorf("%+v", got)
	}
}

// TestLiveSilent closes windows and answers for metrics while no peer says anything.
func TestLiveSilent(t *testing.T) {
	t.Parallel()
	port, reports := benchlab.FreePort(t), filepath.Join(t.TempDir(), "counts.jsonl")
	run := &liveRun{clitest.NewProcess(t, "live", "--json", "-i", "tcp-listen://:"+port, "--of", "src", "--every", "1s", "--slide", "0",
		"--merge-wait", "50ms", "--reports", reports)}
	run.Start()
	run.Event(" started ")
	conn := dialled(t, port)
	defer conn.Close()
	p := binary.LittleEndian.AppendUint32(nil, 0xa1b2c3d4)
	p = append(p, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0)
	frame := liveFrame{id: 1, src: 9, ttl: 64}.bytes()
	now := time.Now()
	for _, v := range []uint32{uint32(now.Unix()), uint32(now.Nanosecond() / 1000), uint32(len(frame)), uint32(len(frame))} {
		p = binary.LittleEndian.AppendUint32(p, v)
	}
	if _, err := conn.Write(append(p, frame...)); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the row of a window", func() bool {
		rows, _ := os.ReadFile(reports)
		return strings.Contains(string(rows), `"distinct":1`)
	})
	if s := run.stop(); s.PacketsIn != 1 {
		t.Errorf("%+v", s)
	}
}

// sendVXLAN sends frames to the VXLAN port of this namespace.
func sendVXLAN(t *testing.T, vni byte, frames ...[]byte) {
	t.Helper()
	conn, err := net.Dial("udp", "127.0.0.1:4789")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, f := range frames {
		if _, err := conn.Write(append([]byte{8, 0, 0, 0, 0, 0, vni, 0}, f...)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLiveMirror removes copies among VNIs, each a capture point, beside an interface and a
// peer, and resumes.
func TestLiveMirror(t *testing.T) {
	t.Parallel()
	lab(t)
	ip(t, "link set lo up")
	pair(t, "left", "right")
	dir := t.TempDir()
	out, state := filepath.Join(dir, "out.pcapng"), filepath.Join(dir, "state")
	args := []string{"--json", "-i", "vxlan://127.0.0.1?vni=1,2", "-i", "right", "-i", "tcp-listen://:57012", "--rings", "2", "--across", "--window", "10s",
		"--merge-wait", "200ms", "--state", state, "-w", out, "udp"}
	run := startLive(t, args...)
	var frames [][]byte
	for i := range 50 {
		frames = append(frames, liveFrame{id: uint16(i), src: 1, ttl: 64}.bytes())
	}
	sendVXLAN(t, 1, frames...)
	waitFor(t, "the packets that stay", func() bool { return packetsIn(out) == len(frames) })
	sendVXLAN(t, 2, frames...)      // copies
	sendVXLAN(t, 1, frames[:10]...) // sent again: none, by --across
	sendVXLAN(t, 3, frames...)      // unwanted
	sendVXLAN(t, 1, []byte{})
	sendBytes(t, "left", frames...) // copies
	awaitRead(t, mirrorPort)
	run.signalAll()
	got := run.netResult(130)
	if got.PacketsIn != 160 || got.Duplicates != 100 {
		t.Errorf("%d duplicates of %d packets", got.Duplicates, got.PacketsIn)
	}
	for _, in := range got.Inputs {
		if strings.HasPrefix(in.Interface, "vxlan") && (in.Received != 161 || in.Unwanted != 50 || in.Malformed["content"] != 1 || in.Points != 2) {
			t.Errorf("%+v", in)
		}
	}
	if n := len(framesOf(t, out)); n != 60 {
		t.Errorf("%d packets were written", n)
	}
	again := startLive(t, args...)
	again.signalAll()
	if n := again.netResult(130).PacketsIn; n != 160 {
		t.Errorf("a resumed run has %d packets", n)
	}
}

// mirrorPort is the port of VXLAN.
const mirrorPort = 4789

// signalAll ends a run as a user does.
func (r *liveRun) signalAll() {
	r.T.Helper()
	if err := r.Cmd.Process.Signal(os.Interrupt); err != nil {
		r.T.Fatal(err)
	}
}

// TestLiveNetworkRefusals says in one line what has no meaning.
func TestLiveNetworkRefusals(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	at := "tcp-listen://" + taken.Addr().String()
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"-i tcp://host", exitUsage, "write it as tcp://HOST:57012"},
		{"-i foo://", exitUsage, "-i foo://: name an interface, tcp://HOST:PORT"},
		{"-i vxlan://:x", exitUsage, "not a target of mirrored traffic"},
		{"-i vxlan:// -i vxlan://", exitUsage, "named twice"},
		{"-i vxlan:// --fanout cpu", exitUsage, "--fanout is about interfaces"},
		{"-i vxlan:// --merge-wait 1s", exitUsage, "--merge-wait needs"},
		{"-i lo --merge-wait 1s", exitUsage, "--merge-wait needs"},
		{"-i tcp-listen://:1 --snaplen 64", exitUsage, "--snaplen is about interfaces"},
		{"-i tcp-listen://:1 --tls-ca x", exitUsage, "needs --tls-cert and --tls-key"},
		{"-i vxlan:// --tls-ca x", exitUsage, "need tcp:// or tcp-listen://"},
		{"-i " + at, exitFailed, at + ": address already in use"},
	} {
		_, stderr, code := run(append([]string{"live"}, strings.Fields(c.args)...)...)
		if code != c.code || !strings.Contains(stderr, c.want) || strings.Count(strings.TrimSpace(stderr), "\n") != 0 {
			t.Errorf("%s: exit code %d, %s", c.args, code, stderr)
		}
	}
}

// TestInspectNetwork inspects what a peer sends, as it would a file.
func TestInspectNetwork(t *testing.T) {
	t.Parallel()
	name, port := bundled("router-ordered.pcapng"), benchlab.FreePort(t)
	var want, got struct {
		Packets uint64 `json:"packets_in"`
		Copies  uint64 `json:"duplicates"`
		Peers   uint64
		Dropped uint64 `json:"dropped_peers"`
	}
	out, _, _ := run("inspect", "--json", name)
	if err := json.Unmarshal([]byte(out), &want); err != nil {
		t.Fatal(err)
	}
	inspecting := startNet(t, "inspect", "--json", "tcp-listen://:"+port)
	looking, conn := dialled(t, port), dialled(t, port)
	if _, err := looking.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	looking.Close()
	if _, err := conn.Write(mustRead(t, name)); err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if code := exitCodeOf(t, inspecting.Wait()); code != exitDone {
		t.Fatal(code, inspecting.stderr.String())
	}
	if err := json.Unmarshal(inspecting.stdout.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if want.Copies == 0 || got.Packets != want.Packets || got.Copies != want.Copies || got.Peers != 2 || got.Dropped != 1 {
		t.Errorf("%+v, want %+v", got, want)
	}
}
