// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	benchlab "github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/count"
)

// TestLiveListen joins two peers by --across, as two files would be, and writes what dedup
// writes. It needs no privileges.
func TestLiveListen(t *testing.T) {
	t.Parallel()
	names := []string{clitest.Bundled("router-in.pcap"), clitest.Bundled("router-out.pcap")}
	want := clitest.RunDedup(t, cli.ExitDone, append([]string{"--across", "--window", "50ms"}, names...)...)
	port, out := benchlab.FreePort(t), filepath.Join(t.TempDir(), "out.pcapng")
	run := &liveRun{clitest.NewProcess(t, "live", "--json", "-i", "tcp-listen://:"+port, "--across", "--window", "50ms",
		"--merge-wait", "10s", "-w", out, "--count", fmt.Sprint(want.PacketsIn))}
	run.Start()
	run.Event(" started ")
	clitest.SendTogether(t, port, names)
	got := run.end(cli.ExitDone)
	if got.PacketsIn != want.PacketsIn || got.Duplicates != want.Duplicates || want.Duplicates == 0 {
		t.Errorf("%d duplicates of %d packets, want %d of %d", got.Duplicates, got.PacketsIn, want.Duplicates, want.PacketsIn)
	}
	if n := len(clitest.FramesOf(t, out)); n != int(got.PacketsOut) {
		t.Errorf("%d packets were written, the summary says %d", n, got.PacketsOut)
	}
	if len(got.Interfaces) != 1 || got.Interfaces[0].Received != want.PacketsIn || got.Interfaces[0].Peers != 2 || got.Interfaces[0].PeersDropped != 0 {
		t.Errorf("%+v", got.Interfaces)
	}
}

// TestLiveConnect connects to a peer that comes late and leaves, and goes on with what comes
// then. The filter is applied here.
func TestLiveConnect(t *testing.T) {
	t.Parallel()
	clitest.Tool(t, "tcpdump")
	port, data := benchlab.FreePort(t), clitest.ReadFile(t, clitest.Bundled("router-in.pcap"))
	wanted := clitest.RunDedup(t, cli.ExitDone, "--filter", "tcp", clitest.Bundled("router-in.pcap")).PacketsIn
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
	got := run.end(cli.ExitDone)
	// The same packets come again, each time as those of one capture point.
	if got.PacketsIn != rounds*wanted || got.Interfaces[0].Peers < rounds || got.PacketsOut > wanted {
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
	conn := clitest.Dialled(t, port)
	defer conn.Close()
	p := clitest.NewPcap(1)
	p.Add(time.Now().UnixNano(), clitest.Frame{ID: 1, Src: 9, TTL: 64}.Bytes())
	if _, err := conn.Write(p); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the row of a window", func() bool {
		rows, _ := os.ReadFile(reports)
		return strings.Contains(string(rows), `"distinct":1`)
	})
	if s := run.stop(); s.PacketsIn != 1 {
		t.Errorf("%+v", s)
	}
}

// TestLiveTop reports rankings of kept packets, as distinct ranks the packets of the output.
func TestLiveTop(t *testing.T) {
	t.Parallel()
	dir, port := t.TempDir(), benchlab.FreePort(t)
	reports, clean := filepath.Join(dir, "counts.jsonl"), filepath.Join(dir, "clean.pcapng")
	ranking := []string{"--of", "src,flow", "--every", "8760h", "--top", "3", "--top-by", "bytes"}
	run := &liveRun{clitest.NewProcess(t, slices.Concat([]string{"live", "--json", "-i", "tcp-listen://:" + port, "-w", clean, "--keep", "first", "--count", "1188",
		"--slide", "0", "--reports", reports}, ranking)...)}
	run.Start()
	run.Event(" started ")
	conn := clitest.Dialled(t, port)
	defer conn.Close()
	packets, err := os.ReadFile(clitest.Bundled("router-vlan.pcapng"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(packets); err != nil {
		t.Fatal(err)
	}
	run.end(cli.ExitDone)
	got, err := os.ReadFile(reports)
	if err != nil {
		t.Fatal(err)
	}
	ofFile, _, _ := clitest.Run(slices.Concat([]string{"distinct", "--json", clean}, ranking)...)
	if want := rankings(t, ofFile); len(want) != 6 || !slices.Equal(rankings(t, string(got)), want) {
		t.Errorf("got %v, want %v", rankings(t, string(got)), want)
	}
}

// ranked is what lines of rankings say of elements.
type ranked struct {
	Kind, Of, Family, Value string
	Rank                    int
	Packets                 uint64 `json:"packets_in"`
	Bytes                   uint64 `json:"bytes_in"`
}

// rankings returns the rankings of windows among lines.
func rankings(t *testing.T, lines string) (all []ranked) {
	t.Helper()
	for dec := json.NewDecoder(strings.NewReader(lines)); dec.More(); {
		var one ranked
		if err := dec.Decode(&one); err != nil {
			t.Fatal(err)
		}
		if one.Kind == count.KindTop {
			all = append(all, one)
		}
	}
	return all
}

// TestLiveMirror removes copies among VNIs, each a capture point, together with an interface
// and a peer, and resumes.
func TestLiveMirror(t *testing.T) {
	t.Parallel()
	clitest.Lab(t, "left right")
	clitest.IP(t, "link set lo up")
	dir := t.TempDir()
	out, state := filepath.Join(dir, "out.pcapng"), filepath.Join(dir, "state")
	args := []string{"--json", "-i", "vxlan://127.0.0.1?vni=1,2", "-i", "right", "-i", "tcp-listen://:57012", "--rings", "2", "--across", "--window", "10s",
		"--merge-wait", "200ms", "--state", state, "-w", out, "udp"}
	run := startLive(t, args...)
	var frames [][]byte
	for i := range 50 {
		frames = append(frames, clitest.Frame{ID: uint16(i), Src: 1, TTL: 64}.Bytes())
	}
	clitest.SendVXLAN(t, 1, frames...)
	wait.Until(t, "the packets that stay", func() bool { return packetsIn(out) == len(frames) })
	clitest.SendVXLAN(t, 2, frames...)      // copies
	clitest.SendVXLAN(t, 1, frames[:10]...) // sent again: none, by --across
	clitest.SendVXLAN(t, 3, frames...)      // unwanted
	clitest.SendVXLAN(t, 1, []byte{})
	clitest.SendBytes(t, "left", frames...) // copies
	clitest.AwaitRead(t, clitest.MirrorPort)
	run.signal(syscall.SIGINT)
	got := run.end(130)
	if got.PacketsIn != 160 || got.Duplicates != 100 {
		t.Errorf("%d duplicates of %d packets", got.Duplicates, got.PacketsIn)
	}
	for _, in := range got.Interfaces {
		if strings.HasPrefix(in.Name, "vxlan") && (in.Received != 161 || in.Unwanted != 50 || in.Malformed["content"] != 1 || in.Points != 2) {
			t.Errorf("%+v", in)
		}
	}
	if n := len(clitest.FramesOf(t, out)); n != 60 {
		t.Errorf("%d packets were written", n)
	}
	again := startLive(t, args...)
	again.signal(syscall.SIGINT)
	if n := again.end(130).PacketsIn; n != 160 {
		t.Errorf("a resumed run has %d packets", n)
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
	endsAs(t, "", []refusal{
		{"-i tcp://host", cli.ExitUsage, "write it as tcp://HOST:57012"},
		{"-i foo://", cli.ExitUsage, "-i foo://: name an interface, tcp://HOST:PORT"},
		{"-i vxlan://:x", cli.ExitUsage, "not a target of mirrored traffic"},
		{"-i vxlan:// -i vxlan://", cli.ExitUsage, "named twice"},
		{"-i vxlan:// --fanout cpu", cli.ExitUsage, "--fanout needs an interface"},
		{"-i vxlan:// --merge-wait 1s", cli.ExitUsage, "--merge-wait needs"},
		{"-i lo --merge-wait 1s", cli.ExitUsage, "--merge-wait needs"},
		{"-i tcp-listen://:1 --snaplen 64", cli.ExitUsage, "--snaplen needs an interface"},
		{"-i tcp-listen://:1 --tls-ca x", cli.ExitUsage, "needs --tls-cert and --tls-key"},
		{"-i vxlan:// --tls-ca x", cli.ExitUsage, "need tcp:// or tcp-listen://"},
		{"-i " + at, cli.ExitFailed, at + ": address already in use"},
	})
}
