// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	benchlab "github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
)

// netRun is a run of flowdedup as a process.
type netRun struct {
	*exec.Cmd
	stdout, stderr bytes.Buffer
}

func startNet(t *testing.T, args ...string) *netRun {
	t.Helper()
	r := &netRun{Cmd: clitest.Program(t, args...)}
	r.Stdout, r.Stderr = &r.stdout, &r.stderr
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Process.Kill() }) // it has ended
	return r
}

// result waits for the end, and returns the summary.
func (r *netRun) result(t *testing.T, code int) (sum dedup.Summary) {
	t.Helper()
	if got := clitest.ExitCode(t, r.Wait()); got != code {
		t.Fatalf("exit code %d, want %d: %s", got, code, &r.stderr)
	}
	if r.stdout.Len() > 0 {
		if err := json.Unmarshal(r.stdout.Bytes(), &sum); err != nil {
			t.Fatal(err, r.stdout.String())
		}
	}
	return sum
}

// TestNetworkPeers takes packets from tcpdump, as nc would carry them, through two runs of
// our own to tshark and dumpcap: all have what a file would have.
func TestNetworkPeers(t *testing.T) {
	tcpdump := clitest.Tool(t, "tcpdump")
	in := clitest.Bundled("router-in.pcap")
	want := clitest.RunDedup(t, cli.ExitDone, in)
	for _, reader := range []string{"tshark", "dumpcap"} {
		t.Run(reader, func(t *testing.T) {
			reader := clitest.Tool(t, reader)
			out := filepath.Join(t.TempDir(), "out.pcapng")
			from, between, to := benchlab.FreePort(t), benchlab.FreePort(t), benchlab.FreePort(t)
			first := startNet(t, "dedup", "--json", "tcp-listen://:"+from, "-w", "tcp-listen://:"+between)
			clitest.AwaitSocket(t, from, clitest.Listening)
			clitest.AwaitSocket(t, between, clitest.Listening)
			peer := startNet(t, "dedup", "--json", "--window", "n:1", "tcp://127.0.0.1:"+between, "-w", "tcp-listen://:"+to)
			clitest.AwaitSocket(t, to, clitest.Listening)
			last := exec.Command(reader, "-q", "-i", "TCP@127.0.0.1:"+to, "-w", out)
			var said bytes.Buffer
			last.Stderr = &said
			if err := last.Start(); err != nil {
				t.Fatal(err)
			}
			defer last.Process.Kill()
			clitest.AwaitSocket(t, to, clitest.Established)
			// Peers that connect before there are packets get all of them.
			sensor := clitest.Dialled(t, from)
			defer sensor.Close()
			send := exec.Command(tcpdump, "-r", in, "-w", "-")
			send.Stdout = sensor
			if err := send.Run(); err != nil {
				t.Fatal(err)
			}
			sensor.Close()
			got, second := first.result(t, cli.ExitDone), peer.result(t, cli.ExitDone)
			if err := last.Wait(); err != nil {
				t.Fatal(err, said.String())
			}
			if got.PacketsIn != want.PacketsIn || got.PacketsOut != want.PacketsOut || second.PacketsIn != want.PacketsOut {
				t.Errorf("%d and %d packets, then %d; want %d and %d", got.PacketsIn, got.PacketsOut, second.PacketsIn, want.PacketsIn, want.PacketsOut)
			}
			if n := clitest.RunDedup(t, cli.ExitDone, "--window", "n:1", out).PacketsIn; n != second.PacketsOut {
				t.Errorf("the last program has %d packets, want %d", n, second.PacketsOut)
			}
		})
	}
}

// TestNetworkJoins joins the two sides of a router by --across, as two files would be.
func TestNetworkJoins(t *testing.T) {
	names := []string{clitest.Bundled("router-in.pcap"), clitest.Bundled("router-out.pcap")}
	want := clitest.RunDedup(t, cli.ExitDone, append([]string{"--across", "--window", "50ms"}, names...)...)
	port := benchlab.FreePort(t)
	run := startNet(t, "dedup", "--json", "--across", "--window", "50ms", "--merge-wait", "10s", "tcp-listen://:"+port)
	clitest.SendTogether(t, port, names)
	got := run.result(t, cli.ExitDone)
	if got.PacketsIn != want.PacketsIn || got.Duplicates != want.Duplicates || want.Duplicates == 0 {
		t.Errorf("%d duplicates of %d packets, want %d of %d", got.Duplicates, got.PacketsIn, want.Duplicates, want.PacketsIn)
	}
}

// TestNetworkDistinct counts the same as from a file.
func TestNetworkDistinct(t *testing.T) {
	in := clitest.Bundled("router-in.pcap")
	want, _, _ := clitest.Run("distinct", "--json", in)
	port := benchlab.FreePort(t)
	counting := startNet(t, "distinct", "--json", "tcp-listen://:"+port)
	conn := clitest.Dialled(t, port)
	data := clitest.ReadFile(t, in)
	if _, err := conn.Write(data); err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if code := clitest.ExitCode(t, counting.Wait()); code != cli.ExitDone || counting.stdout.String() != want {
		t.Errorf("exit code %d:\n%s\nwant\n%s\n%s", code, &counting.stdout, want, &counting.stderr)
	}
}

// TestNetworkBad checks the exit code, and one line with the address, of what goes wrong.
func TestNetworkBad(t *testing.T) {
	data := clitest.ReadFile(t, clitest.Bundled("router-in.pcap"))
	for _, c := range []struct {
		name string
		sent []byte
		code int
		want string
	}{
		{"garbage", []byte("SSH-2.0-OpenSSH_9.2\r\n"), cli.ExitFailed, "offset 0: not a pcap or pcapng capture"},
		{"nothing", nil, cli.ExitFailed, "offset 0: empty file"},
		{"cut", data[:len(data)-1], cli.ExitDamaged, "cut short"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go func() {
				if conn, err := l.Accept(); err == nil {
					_, _ = conn.Write(c.sent)
					conn.Close()
				}
			}()
			name := "tcp://" + l.Addr().String()
			run := startNet(t, "dedup", "--json", name)
			run.result(t, c.code)
			if text := run.stderr.String(); strings.Count(text, "\n") != 1 || !strings.HasPrefix(text, "flowdedup: "+name+": offset ") || !strings.Contains(text, c.want) {
				t.Error(text)
			}
		})
	}
	closed := "127.0.0.1:" + benchlab.FreePort(t)
	for _, args := range [][]string{{"tcp://" + closed}, {clitest.Bundled("router-in.pcap"), "-w", "tcp://" + closed}} {
		run := startNet(t, append([]string{"dedup"}, args...)...)
		if code := clitest.ExitCode(t, run.Wait()); code != cli.ExitFailed || run.stderr.String() != "flowdedup: tcp://"+closed+": connection refused\n" {
			t.Error(code, run.stderr.String())
		}
	}
}

// awaitPackets waits until a run has written packets to a file in a folder, and not only its
// lock.
func awaitPackets(t *testing.T, r *netRun, dir string) {
	t.Helper()
	wait.Until(t, "packets in "+dir, func() bool { return outputSize(r.Process, dir) > 10_000 })
}

// TestNetworkSignal ends a run whose peers are silent. What came is written.
func TestNetworkSignal(t *testing.T) {
	port := benchlab.FreePort(t)
	out := filepath.Join(t.TempDir(), "out.pcapng")
	run := startNet(t, "dedup", "--json", "--window", "n:1", "tcp-listen://:"+port, "-w", out)
	silent, busy := clitest.Dialled(t, port), clitest.Dialled(t, port)
	defer silent.Close()
	defer busy.Close()
	if _, err := busy.Write(longCapture(t)); err != nil {
		t.Fatal(err)
	}
	awaitPackets(t, run, filepath.Dir(out)) // though a peer says nothing
	if err := run.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	sum := run.result(t, 143)
	if n := clitest.RunDedup(t, cli.ExitDone, "--window", "n:1", out).PacketsIn; n != sum.PacketsOut || n == 0 {
		t.Errorf("%d packets in the output, summary says %d", n, sum.PacketsOut)
	}
}

// TestMergeWaitPipe does not wait for an idle pipe, with --merge-wait, and follows the advice to wait
// longer.
func TestMergeWaitPipe(t *testing.T) {
	t.Run("idle", func(t *testing.T) { testMergeWaitPipe(t, "50ms", true) })
	t.Run("longer", func(t *testing.T) { testMergeWaitPipe(t, "1m", false) })
}

func testMergeWaitPipe(t *testing.T, wait string, late bool) {
	dir := t.TempDir()
	idle, out := filepath.Join(dir, "idle"), filepath.Join(dir, "out", "out.pcapng")
	if err := syscall.Mkfifo(idle, 0o600); err != nil {
		t.Fatal(err)
	}
	long, other := filepath.Join(dir, "long.pcapng"), clitest.Bundled("router-plain.pcapng")
	content := longCapture(t)
	if !late { // times do not go back
		content = clitest.ReadFile(t, other)
	}
	if err := errors.Join(os.Mkdir(filepath.Dir(out), 0o700), os.WriteFile(long, content, 0o600)); err != nil {
		t.Fatal(err)
	}
	run := startNet(t, "dedup", "--json", "--window", "n:1", "--merge-wait", wait, long, idle, "-w", out)
	w, err := os.OpenFile(idle, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if late {
		awaitPackets(t, run, filepath.Dir(out))
	}
	data := clitest.ReadFile(t, other)
	if _, err := io.Copy(w, bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	w.Close()
	want := clitest.RunDedup(t, cli.ExitDone, "--window", "n:1", long, other)
	sum := run.result(t, cli.ExitDone)
	if sum.PacketsIn != want.PacketsIn {
		t.Errorf("%d packets, want %d", sum.PacketsIn, want.PacketsIn)
	}
	if strings.Contains(run.stderr.String(), "use a larger --merge-wait") != late {
		t.Errorf("the warning about late packets: %s", &run.stderr)
	}
}
