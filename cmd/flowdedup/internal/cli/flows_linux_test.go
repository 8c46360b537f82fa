package cli

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// flowNet makes a network of its own with addresses for exporters: what they send to one
// comes from it.
func flowNet(t *testing.T, exporters int) {
	t.Helper()
	for _, needed := range []string{"softflowd", "nfcapd", "nfdump"} {
		tool(t, needed)
	}
	lab(t)
	ip(t, "link set lo up")
	for n := range exporters {
		ip(t, fmt.Sprintf("addr add 10.99.0.%d/32 dev lo", n+1))
	}
}

// softflow exports a bundled capture from the address of an exporter.
func softflow(t *testing.T, exporter int, version, name string) {
	t.Helper()
	cmd := exec.Command("softflowd", "-d", "-c", "none", "-p", filepath.Join(t.TempDir(), "pid"), "-v", version,
		"-n", fmt.Sprintf("10.99.0.%d:2055", exporter), "-r", bundled(name))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
}

// collector is nfcapd.
type collector struct {
	t   *testing.T
	cmd *exec.Cmd
	dir string
}

func newCollector(t *testing.T) *collector {
	c := &collector{t: t, dir: t.TempDir()}
	c.cmd = exec.Command("nfcapd", "-b", "127.0.0.1", "-p", "9995", "-w", c.dir, "-t", "3600")
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.cmd.Stderr = c.cmd.Stdout
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.cmd.Process.Kill() })
	lines, up := bufio.NewScanner(out), make(chan struct{})
	go func() {
		for lines.Scan() {
			if strings.Contains(lines.Text(), "Startup") {
				close(up)
			}
		}
	}()
	select {
	case <-up:
	case <-time.After(10 * time.Second):
		t.Fatal("nfcapd does not start")
	}
	return c
}

// flows ends the collector, and returns the keys and counters of what it has.
func (c *collector) flows() (all []string) {
	c.t.Helper()
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		c.t.Fatal(err)
	}
	_ = c.cmd.Wait() // by the signal
	out, err := exec.Command("nfdump", "-R", c.dir, "-o", "json").Output()
	if err != nil {
		c.t.Fatal(err)
	}
	return keysOf(c.t, string(out), "src4_addr", "src6_addr", "dst4_addr", "dst6_addr", "src_port", "dst_port", "in_packets", "in_bytes")
}

// keysOf returns the values of some names in objects of JSON, sorted by object. Ports of
// ICMP count, which tools write in ways of their own, are left out.
func keysOf(t *testing.T, text string, names ...string) (all []string) {
	t.Helper()
	if strings.HasPrefix(text, "[") {
		var objects []json.RawMessage
		if err := json.Unmarshal([]byte(text), &objects); err != nil {
			t.Fatal(err, text)
		}
		text = ""
		for _, o := range objects {
			var line bytes.Buffer
			if err := json.Compact(&line, o); err != nil {
				t.Fatal(err)
			}
			text += line.String() + "\n"
		}
	}
	for line := range strings.Lines(text) {
		var o map[string]any
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatal(err, line)
		}
		var key []string
		for _, name := range names {
			v, ok := o[name]
			if protocol := o["proto"]; !ok || strings.HasSuffix(name, "_port") && (protocol == 1.0 || protocol == 58.0) {
				continue
			}
			key = append(key, fmt.Sprint(v))
		}
		all = append(all, strings.Join(key, " "))
	}
	slices.Sort(all)
	return all
}

// TestFlowsRelay relays what several softflowd export of one capture to nfcapd, which has
// what was written: the flows of one.
func TestFlowsRelay(t *testing.T) {
	const exporters = 3
	for version, want := range map[string]uint64{"5": 36, "9": 73, "10": 73} {
		t.Run("v"+version, func(t *testing.T) {
			flowNet(t, exporters)
			to, out := newCollector(t), filepath.Join(t.TempDir(), "out.ndjson")
			r := &liveRun{t: t, cmd: program(t, "flows", "--listen", ":2055", "--to", "udp://127.0.0.1:9995", "-w", out, "--json")}
			r.cmd.Stdout = &r.stdout
			r.start()
			r.event("listening")
			for n := range exporters {
				softflow(t, n+1, version, "router-in.pcap")
			}
			time.Sleep(time.Second) // until all has been read
			if err := r.cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			if code := r.wait(); code != exitSignal+2 {
				t.Fatalf("exit code %d: %s", code, r.stderr.String())
			}
			s := parseFlows(t, r.stdout.String())
			if s.RecordsIn != exporters*want || s.RecordsOut != want || s.Unchecked+s.Undecodable != 0 || len(s.Points) != exporters {
				t.Errorf("%+v", s)
			}
			if s.Relayed == nil || s.Relayed.Failed != 0 {
				t.Errorf("relayed: %+v", s.Relayed)
			}
			time.Sleep(200 * time.Millisecond)
			got := to.flows()
			written := keysOf(t, string(mustReadFile(t, out)), "src_addr", "dst_addr", "src_port", "dst_port", "packets", "bytes")
			if !slices.Equal(got, written) || len(got) != int(want) {
				t.Errorf("the collector has %d flows, %d were written\n%s\n%s", len(got), len(written), strings.Join(got, "\n"), strings.Join(written, "\n"))
			}
		})
	}
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

// TestFlowsListen takes the same flow over TCP and over UDP from two exporters.
func TestFlowsListen(t *testing.T) {
	port := freePort(t)
	r := &liveRun{t: t, cmd: program(t, "flows", "--listen", "tcp-listen://127.0.0.1:"+port, "--listen", "127.0.0.1:"+port, "--json", "--serve", "0")}
	r.cmd.Stdout = &r.stdout
	r.start()
	page := r.event("serving")
	r.event("listening")
	stream := dialled(t, port)
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
	url := page[strings.Index(page, "http://"):]
	url = url[:strings.IndexByte(url+" ", ' ')]
	waitFor(t, "both records", func() bool {
		answer, err := http.Get(strings.TrimSpace(url) + "metrics")
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		return err == nil && strings.Contains(string(body), "\nflowdedup_flows_records_total 2\n")
	})
	if err := r.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := r.wait(); code != exitSignal+2 {
		t.Fatalf("exit code %d: %s", code, r.stderr.String())
	}
	if s := parseFlows(t, r.stdout.String()); s.RecordsIn != 2 || s.Copies != 1 || len(s.Points) != 2 {
		t.Errorf("%+v", s)
	}
}
