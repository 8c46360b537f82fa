// SPDX-License-Identifier: Apache-2.0

package flows_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	benchlab "github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// softflow exports a capture to an address.
func softflow(t *testing.T, to, version, name string, args ...string) {
	t.Helper()
	cmd := exec.Command("softflowd", append([]string{"-d", "-c", "none", "-p", filepath.Join(t.TempDir(), "pid"), "-v", version, "-n", to, "-r", name}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
}

// TestFlowsRelay relays what several softflowd export of one capture to nfcapd and to
// goflow2, which have what was written: the flows of one.
func TestFlowsRelay(t *testing.T) {
	const exporters = 3
	type export struct {
		version string
		want    uint64
	}
	clitest.AtOnce(t, map[string]export{"v5": {"5", 36}, "v9": {"9", 73}, "v10": {"10", 73}}, func(t *testing.T, c export) {
		flowNet(t, exporters, "softflowd", "nfcapd", "nfdump", "goflow2")
		to := newCollector(t, true)
		r := startFlows(t, "--to", "udp://"+collectorAddress)
		for n := range exporters {
			softflow(t, exporterAddress(n+1)+":2055", c.version, clitest.Bundled("router-in.pcap"))
		}
		wait.Until(t, "all records", func() bool { return r.total("records") >= exporters*c.want })
		s := r.stop()
		if s.RecordsIn != exporters*c.want || s.RecordsOut != c.want || s.Unchecked+s.Undecodable+s.Lost != 0 || len(s.Points) != exporters {
			t.Errorf("%+v", s)
		}
		if s.Relayed == nil || s.Relayed.Failed != 0 {
			t.Errorf("relayed: %+v", s.Relayed)
		}
		to.check(r.written())
	})
}

// ipfixMessage returns an IPFIX message with a template and a record of a flow.
func ipfixMessage(domain uint32, now time.Time) []byte {
	be := binary.BigEndian
	var template, data []byte
	fields := [][2]uint16{{8, 4}, {12, 4}, {7, 2}, {11, 2}, {4, 1}, {1, 8}, {2, 8}, {152, 8}, {153, 8}}
	template = be.AppendUint16(be.AppendUint16(nil, 256), uint16(len(fields)))
	for _, f := range fields {
		template = be.AppendUint16(be.AppendUint16(template, f[0]), f[1])
	}
	data = append(data, 10, 0, 0, 1, 10, 0, 0, 2, 4, 210, 1, 187, 6)
	data = be.AppendUint64(be.AppendUint64(data, 1000), 10)
	data = be.AppendUint64(be.AppendUint64(data, uint64(now.UnixMilli()-9000)), uint64(now.UnixMilli()))
	var sets []byte
	for _, set := range []struct {
		id      uint16
		content []byte
	}{{2, template}, {256, data}} {
		sets = append(be.AppendUint16(be.AppendUint16(sets, set.id), uint16(4+len(set.content))), set.content...)
	}
	head := be.AppendUint16(be.AppendUint16(nil, 10), uint16(16+len(sets)))
	head = be.AppendUint32(be.AppendUint32(be.AppendUint32(head, uint32(now.Unix())), 0), domain)
	return append(head, sets...)
}

// waitForRecords waits until a run has read n records, as its page shows. The event names the
// page.
func waitForRecords(t *testing.T, event string, n int) {
	t.Helper()
	url := event[strings.Index(event, "http://"):]
	url = url[:strings.IndexByte(url+" ", ' ')]
	wait.Until(t, "all records", func() bool {
		answer, err := http.Get(strings.TrimSpace(url) + "metrics")
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		return err == nil && strings.Contains(string(body), fmt.Sprintf("\nflowdedup_flows_records_total %d\n", n))
	})
}

// TestFlowsListen takes the same flow over TCP and over UDP from two exporters.
func TestFlowsListen(t *testing.T) {
	t.Parallel()
	port := benchlab.FreePort(t)
	r := clitest.NewProcess(t, "flows", "--listen", "tcp-listen://127.0.0.1:"+port, "--listen", "127.0.0.1:"+port, "--json", "--http", "0")
	r.Start()
	page := r.Event("serving")
	r.Event("listening")
	stream := clitest.Dialled(t, port)
	defer stream.Close()
	datagrams, err := net.Dial("udp", "127.0.0.1:"+port)
	if err != nil {
		t.Fatal(err)
	}
	defer datagrams.Close()
	now := time.Now()
	for domain, to := range []net.Conn{stream, datagrams} {
		if _, err := to.Write(ipfixMessage(uint32(domain+1), now)); err != nil {
			t.Fatal(err)
		}
	}
	waitForRecords(t, page, 2)
	if err := r.Cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := r.Wait(); code != cli.ExitSignal+2 {
		t.Fatalf("exit code %d: %s", code, r.Stderr.String())
	}
	if s := parseFlows(t, r.Stdout.String()); s.RecordsIn != 2 || s.Copies != 1 || len(s.Points) != 2 {
		t.Errorf("%+v", s)
	}
}

// TestFlowsShared relays two exporters of one observation domain: a run says that the collector
// cannot distinguish them, once.
func TestFlowsShared(t *testing.T) {
	t.Parallel()
	port := benchlab.FreePort(t)
	r := clitest.NewProcess(t, "flows", "--listen", "127.0.0.1:"+port, "--to", "udp://127.0.0.1:9", "--http", "0")
	r.Start()
	page := r.Event("serving")
	r.Event("listening")
	for i := range 4 { // in turns
		from := &net.UDPAddr{IP: net.IPv4(127, 0, 0, byte(1+i%2))}
		to, err := net.ResolveUDPAddr("udp", "127.0.0.1:"+port)
		if err != nil {
			t.Fatal(err)
		}
		exporter, err := net.DialUDP("udp", from, to)
		if err != nil {
			t.Fatal(err)
		}
		defer exporter.Close()
		if _, err := exporter.Write(ipfixMessage(0, time.Now().Add(time.Duration(i)*time.Second))); err != nil {
			t.Fatal(err)
		}
	}
	waitForRecords(t, page, 4)
	if err := r.Cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	r.Wait()
	const want = "127.0.0.1 and 127.0.0.2 both export observation domain 0"
	if got := r.Stderr.String(); strings.Count(got, want) != 1 {
		t.Errorf("no warning, or several: %s", got)
	}
}

// stampArrivals waits until the kernel stamps datagrams when they arrive. It begins to do so
// a while after the first socket asks for it, and until then stamps them when they are read.
func stampArrivals(t *testing.T) {
	t.Helper()
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // the kernel goes on until then
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS_NEW, 1) }); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	data, control := make([]byte, 8), make([]byte, 64)
	wait.Until(t, "stamps", func() bool {
		if _, err := conn.WriteTo(data, conn.LocalAddr()); err != nil {
			t.Fatal(err)
		}
		sent := time.Now().UnixNano()
		_, n, _, _, err := conn.ReadMsgUDP(data, control)
		if err != nil {
			t.Fatal(err)
		}
		all, err := unix.ParseSocketControlMessage(control[:n])
		if err != nil || len(all) != 1 || len(all[0].Data) < 16 {
			t.Fatalf("%v: %d control messages", err, len(all))
		}
		stamp := all[0].Data
		at := binary.NativeEndian.Uint64(stamp)*1e9 + binary.NativeEndian.Uint64(stamp[8:])
		return int64(at) <= sent
	})
}

// TestFlowsSockets keeps what came first, whatever the number of sockets that exporters send to.
func TestFlowsSockets(t *testing.T) {
	t.Parallel()
	stampArrivals(t)
	for _, sockets := range []int{1, 5} {
		if got, want := toldFirst(t, sockets); !maps.Equal(got, want) {
			t.Errorf("%d sockets: %v, want %v", sockets, got, want)
		}
	}
}

// toldFirst has exporters report the same flows one after the other. It returns whose record
// of a flow was kept, and who reported it first.
func toldFirst(t *testing.T, sockets int) (got, want map[string]string) {
	t.Helper()
	const exporters, reported = 6, 60
	out := filepath.Join(t.TempDir(), "out.ndjson")
	args := []string{"flows", "--json", "-w", out, "--http", "0"}
	var ports []string
	for range sockets {
		ports = append(ports, benchlab.FreePort(t))
		args = append(args, "--listen", "127.0.0.1:"+ports[len(ports)-1])
	}
	r := clitest.NewProcess(t, args...)
	r.Start()
	page := r.Event("serving")
	for range sockets {
		r.Event("listening")
	}
	var conns []net.Conn
	for n := range exporters {
		from := net.Dialer{LocalAddr: &net.UDPAddr{IP: net.IPv4(127, 0, 0, byte(2+n))}}
		conn, err := from.Dial("udp", "127.0.0.1:"+ports[n%sockets])
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conns = append(conns, conn)
	}
	now := time.Now()
	got, want = map[string]string{}, map[string]string{}
	for flow := range reported {
		message := ipfixMessage(1, now)
		message[len(message)-45+3] = byte(flow) // of the source address
		for n := range conns {
			conn := conns[(flow+n)%exporters]
			if _, err := conn.Write(message); err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				want[fmt.Sprintf("10.0.0.%d", flow)] = conn.LocalAddr().(*net.UDPAddr).IP.String()
			}
		}
	}
	waitForRecords(t, page, exporters*reported)
	if err := r.Cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := r.Wait(); code != cli.ExitSignal+2 {
		t.Fatalf("exit code %d: %s", code, r.Stderr.String())
	}
	if s := parseFlows(t, r.Stdout.String()); s.RecordsIn != exporters*reported || s.Copies != (exporters-1)*reported || len(s.Points) != exporters {
		t.Errorf("%d sockets: %+v", sockets, s)
	}
	for line := range strings.Lines(string(mustReadFile(t, out))) {
		var one struct {
			Source  string `json:"src_addr"`
			Sampler string `json:"sampler_address"`
		}
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatal(err)
		}
		got[one.Source] = one.Sampler
	}
	return got, want
}
