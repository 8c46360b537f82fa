// SPDX-License-Identifier: Apache-2.0

package flows_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/flowdedup/flowdedup/bench/lab/goflow"
	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/flows"
)

// exporterAddress is where exporter n sends from, from 1 on, and what it sends to.
func exporterAddress(n int) string { return fmt.Sprintf("10.99.0.%d", n) }

// flowNet makes a network of its own with addresses for exporters: what they send to one
// comes from it.
func flowNet(t *testing.T, exporters int, programs ...string) {
	t.Helper()
	for _, needed := range programs {
		if needed == "goflow2" {
			goflow.Need(t) // built here, as the new network has no way to its module
			continue
		}
		clitest.Tool(t, needed)
	}
	clitest.Lab(t)
	clitest.IP(t, "link set lo up")
	for n := range exporters {
		clitest.IP(t, "addr add "+exporterAddress(n+1)+"/32 dev lo")
	}
}

// flowsRun is a running "flowdedup flows" that listens to exporters.
type flowsRun struct {
	*clitest.Process
	out string
}

// startFlows starts a run at :2055 that writes lines of JSON and serves its metrics, and
// waits until it listens.
func startFlows(t *testing.T, args ...string) *flowsRun {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out.ndjson")
	r := &flowsRun{clitest.NewProcess(t, append([]string{"flows", "--listen", ":2055", "-w", out, "--json", "--http", "9469"}, args...)...), out}
	r.Start()
	r.Event("listening")
	return r
}

// total returns a metric of the run. It dials from the thread of the test, which is in the
// network of the run.
func (r *flowsRun) total(name string) uint64 {
	r.T.Helper()
	conn, err := net.Dial("tcp", "127.0.0.1:9469")
	if err != nil {
		r.T.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("GET /metrics HTTP/1.0\r\n\r\n")); err != nil {
		r.T.Fatal(err)
	}
	body, err := io.ReadAll(conn)
	if err != nil {
		r.T.Fatal(err)
	}
	for line := range strings.Lines(string(body)) {
		var n float64
		if _, err := fmt.Sscanf(line, "flowdedup_flows_"+name+"_total %g", &n); err == nil {
			return uint64(n)
		}
	}
	return 0 // before the first record
}

// stop ends the run, which reads what its sockets hold, and returns its summary.
func (r *flowsRun) stop() flows.Summary {
	r.T.Helper()
	if err := r.Cmd.Process.Signal(os.Interrupt); err != nil {
		r.T.Fatal(err)
	}
	if code := r.Wait(); code != cli.ExitSignal+2 {
		r.T.Fatalf("exit code %d: %s", code, r.Stderr.String())
	}
	return parseFlows(r.T, r.Stdout.String())
}

// written returns the keys and counters of what was written.
func (r *flowsRun) written() []string {
	r.T.Helper()
	return keysOf(r.T, string(mustReadFile(r.T, r.out)), "src_addr", "dst_addr", "src_port", "dst_port", "packets", "bytes")
}

// amount is the traffic that records report.
type amount struct{ Packets, Bytes uint64 }

// amount adds up what was written. What interfaces say of themselves does not count.
func (r *flowsRun) amount() (all amount) {
	r.T.Helper()
	for line := range strings.Lines(string(mustReadFile(r.T, r.out))) {
		var record struct {
			Source         netip.Addr `json:"src_addr"`
			Packets, Bytes uint64
		}
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			r.T.Fatal(err, line)
		}
		if record.Source.IsGlobalUnicast() {
			all = amount{all.Packets + record.Packets, all.Bytes + record.Bytes}
		}
	}
	return all
}

// trafficOf returns the IP packets of a capture, and their bytes, by version.
func trafficOf(t *testing.T, frames []string) (v4, all amount) {
	t.Helper()
	for _, frame := range frames {
		p := gopacket.NewPacket([]byte(frame), layers.LayerTypeEthernet, gopacket.NoCopy)
		switch l := p.NetworkLayer().(type) {
		case *layers.IPv4:
			v4 = amount{v4.Packets + 1, v4.Bytes + uint64(l.Length)}
			all = amount{all.Packets + 1, all.Bytes + uint64(l.Length)}
		case *layers.IPv6:
			const head = 40
			all = amount{all.Packets + 1, all.Bytes + head + uint64(l.Length)}
		}
	}
	return v4, all
}

// collector is goflow2, and nfcapd behind it.
type collector struct {
	t    *testing.T
	conn *net.UDPConn
	come chan []byte
	cmd  *exec.Cmd // nil without nfcapd
	dir  string
}

// collectorAddress is where collectors listen, nfcapdAddress where nfcapd does.
const (
	collectorAddress = "127.0.0.1:9996"
	nfcapdAddress    = "127.0.0.1:9995"
)

// newCollector starts a collector, without nfcapd for protocols that it does not know.
func newCollector(t *testing.T, nfcapd bool) *collector {
	t.Helper()
	conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.MustParseAddrPort(collectorAddress)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // what it had was read
	c := &collector{t: t, conn: conn, come: make(chan []byte, 1<<16)}
	go func() {
		for {
			message := make([]byte, 1<<16)
			n, err := conn.Read(message)
			if err != nil {
				return
			}
			c.come <- message[:n:n]
		}
	}()
	if nfcapd {
		c.dir = t.TempDir()
		c.cmd = startNfcapd(t, c.dir, "127.0.0.1")
	}
	return c
}

// startNfcapd starts nfcapd at port 9995 and waits until it listens.
func startNfcapd(t *testing.T, dir, address string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("nfcapd", "-b", address, "-p", "9995", "-w", dir, "-t", "3600")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	lines, started := bufio.NewScanner(out), make(chan bool, 1)
	go func() {
		up := false
		for !up && lines.Scan() {
			up = strings.Contains(lines.Text(), "Startup")
		}
		started <- up
		_, _ = io.Copy(io.Discard, out)
	}()
	select {
	case up := <-started:
		if !up {
			t.Fatalf("nfcapd ended: %v", lines.Err())
		}
	case <-time.After(wait.Timeout):
		t.Fatal("nfcapd does not start")
	}
	return cmd
}

// nfcapdKeeps ends nfcapd, and returns what it has as JSON.
func nfcapdKeeps(t *testing.T, cmd *exec.Cmd, dir string) string {
	t.Helper()
	clitest.AwaitRead(t, 9995)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // by the signal
	out, err := exec.Command("nfdump", "-R", dir, "-o", "json").Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// check ends the collector, and compares what goflow2 and nfcapd read with what was
// written.
func (c *collector) check(written []string) {
	c.t.Helper()
	messages := c.messages()
	readers := map[string][]string{"goflow2": goflowKeys(c.t, messages)}
	if c.cmd != nil {
		for _, m := range messages {
			c.send(nfcapdAddress, m)
		}
		readers["nfcapd"] = keysOf(c.t, nfcapdKeeps(c.t, c.cmd, c.dir),
			"src4_addr", "src6_addr", "dst4_addr", "dst6_addr", "src_port", "dst_port", "in_packets", "in_bytes")
	}
	for name, got := range readers {
		if !slices.Equal(got, written) || len(got) == 0 {
			c.t.Errorf("%s has %d flows, %d were written; it alone has\n%q\nand it lacks\n%q", name, len(got), len(written), without(got, written), without(written, got))
		}
	}
}

// without returns the elements that are in one list more often than in another.
func without(all, others []string) (left []string) {
	n := map[string]int{}
	for _, one := range others {
		n[one]++
	}
	for _, one := range all {
		if n[one]--; n[one] < 0 {
			left = append(left, one)
		}
	}
	return left
}

// send sends a message from a port of its own for all.
func (c *collector) send(to string, message []byte) {
	c.t.Helper()
	if _, err := c.conn.WriteToUDPAddrPort(message, netip.MustParseAddrPort(to)); err != nil {
		c.t.Fatal(err)
	}
}

// messages returns what has come so far, in order.
func (c *collector) messages() (all [][]byte) {
	c.t.Helper()
	end := []byte("end") // it comes behind all that were sent before
	c.send(collectorAddress, end)
	for timeout := time.After(wait.Timeout); ; {
		select {
		case message := <-c.come:
			if bytes.Equal(message, end) {
				return all
			}
			all = append(all, message)
		case <-timeout:
			c.t.Fatal("the last message does not come")
		}
	}
}
