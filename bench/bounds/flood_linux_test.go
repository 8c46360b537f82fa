// SPDX-License-Identifier: Apache-2.0

package bounds

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
	packetsource "github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// mirror is a target of mirrored traffic, with its flood.
type mirror struct {
	target, network, address string
	// wrap puts a tunnel of a point around a frame.
	wrap func(point int, frame []byte) []byte
}

var mirrors = []mirror{
	{"vxlan://:4789", "udp4", "127.0.0.1:4789", func(point int, frame []byte) []byte {
		return append(be.AppendUint32([]byte{8, 0, 0, 0}, uint32(point)<<8), frame...)
	}},
	{"geneve://:6081", "udp4", "127.0.0.1:6081", func(point int, frame []byte) []byte {
		return append(be.AppendUint32([]byte{0, 0, 0x65, 0x58}, uint32(point)<<8), frame...)
	}},
	{"tzsp://:37008", "udp4", "127.0.0.1:37008", func(_ int, frame []byte) []byte {
		return append([]byte{1, 0, 0, 1, 1}, frame...)
	}},
	{"erspan://", "ip4:47", "127.0.0.1", func(point int, frame []byte) []byte {
		head := be.AppendUint32([]byte{0x10, 0, 0x88, 0xBE}, 1)
		return append(be.AppendUint32(be.AppendUint16(append(head, 0x10, 0), uint16(point%1024)), 0), frame...)
	}},
}

// hostile is datagram number i of a flood: points that do not exist, headers that are
// truncated or of no kind, options, tags, and arbitrary bytes.
func (m *mirror) hostile(rnd *rand.Rand, i int) []byte {
	noise := make([]byte, rnd.IntN(1400))
	for k := range noise {
		noise[k] = byte(rnd.Uint32())
	}
	whole := m.wrap(1000+i, frame(i))
	switch i % 8 {
	case 5:
		return whole[:rnd.IntN(len(whole))]
	case 6:
		return noise
	case 7: // a sound header with another inside
		return append(whole[:8:8], noise...)
	}
	whole[i%8] ^= byte(rnd.Uint32()) & byte(-(i / 8 % 2))
	return whole
}

// mirrorSummary is the part of a summary that the test looks at.
type mirrorSummary struct {
	In         uint64 `json:"packets_in"`
	Interfaces []mirrorCounts
}

type mirrorCounts struct {
	Interface                  string
	Received, Dropped, Control uint64
	Malformed                  map[string]uint64
	Points                     int
}

// TestFloods floods targets of mirrored traffic, within the limit. Every datagram is counted, and
// packets of honest mirrors are kept once, before and after.
func TestFloods(t *testing.T) {
	r := newRunner(t)
	if r.namespace != nil {
		t.Skip(r.namespace)
	}
	flood := 5_000
	if whole() {
		flood = 200_000
	}
	args := strings.Fields("live --across --keep flow --window 10m --hold 100ms --memory 64MiB --of src,flow,mac --reports rows.jsonl -w out.pcapng --json --ring-size 64MiB")
	for _, m := range mirrors {
		args = append(args, "-i", m.target)
	}
	ctx, cancel := context.WithTimeout(t.Context(), runTimeout)
	defer cancel()
	cmd := r.command(ctx, t, args)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stdout strings.Builder
	cmd.Stdout = &stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewScanner(stderr)
	for said.Scan() && !strings.Contains(said.Text(), " started ") {
	}
	sent := make([]uint64, len(mirrors))
	honest(t, 0, sent)
	for i := range mirrors {
		mirrors[i].flood(t, flood, &sent[i])
	}
	honest(t, 1, sent)
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	for said.Scan() {
		if strings.Contains(said.Text(), "panic") {
			t.Error(said.Text())
		}
	}
	if err := said.Err(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // the exit code says how it ended
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Fatalf("%v: %s", cmd.ProcessState, &stdout)
	}
	var s mirrorSummary
	if err := json.Unmarshal([]byte(stdout.String()), &s); err != nil {
		t.Fatalf("%v in %s", err, &stdout)
	}
	lost := s.check(t, sent)
	checkHonest(t, filepath.Join(cmd.Dir, "out.pcapng"), lost)
	t.Logf("%d datagrams to each of %d targets, %d lost: %d MiB", flood, len(mirrors), lost, peakOf(cmd.ProcessState)>>20)
}

// dial connects from an address of this host.
func (m *mirror) dial(t *testing.T, from int) net.Conn {
	t.Helper()
	dialer := net.Dialer{}
	if m.network == "udp4" {
		dialer.LocalAddr = &net.UDPAddr{IP: net.IPv4(127, 0, 0, byte(1+from))}
	}
	conn, err := dialer.DialContext(t.Context(), m.network, m.address)
	if err != nil {
		t.Fatal(err)
	}
	if m.network != "udp4" { // a raw socket gets all packets of its protocol, its own too
		go func() { _, _ = io.Copy(io.Discard, conn) }()
	}
	return conn
}

// flood sends to a target as fast as it reads.
func (m *mirror) flood(t *testing.T, n int, sent *uint64) {
	t.Helper()
	conn := m.dial(t, 0)
	defer conn.Close()
	rnd := rand.New(rand.NewPCG(4, uint64(len(m.target))))
	for i := range n {
		if _, err := conn.Write(m.hostile(rnd, i)); err == nil {
			*sent++
		}
		if i%500 == 499 {
			awaitRead(t)
		}
	}
}

// honestPackets is the number of packets that two points of each target see in each
// round.
const honestPackets = 50

// honestFrame is packet number i of a round.
func honestFrame(round, i int) []byte { return frame(1<<20 + round<<10 + i) }

// honest has two points of each target send the same packets. TZSP has one point for a sender.
func honest(t *testing.T, round int, sent []uint64) {
	t.Helper()
	for k, m := range mirrors {
		for point := range 2 {
			conn := m.dial(t, point)
			for i := range honestPackets {
				if _, err := conn.Write(m.wrap(1+point, honestFrame(round, k*100+i))); err != nil {
					t.Fatal(err)
				}
				sent[k]++
			}
			if err := conn.Close(); err != nil {
				t.Fatal(err)
			}
			awaitRead(t)
		}
	}
}

// awaitRead waits until nothing waits in a socket of the namespace.
func awaitRead(t *testing.T) {
	t.Helper()
	if !wait.For(func() bool {
		for _, name := range []string{"udp", "udp6", "raw", "raw6"} {
			text, err := os.ReadFile("/proc/thread-self/net/" + name)
			if err != nil {
				continue // a kernel without IPv6
			}
			for line := range strings.Lines(string(text)) {
				if f := strings.Fields(line); len(f) > 4 && strings.Contains(f[4], ":") && !strings.HasSuffix(f[4], ":00000000") {
					return false
				}
			}
		}
		return true
	}) {
		t.Fatal("the targets do not read")
	}
}

// check compares the counts of targets with the packets sent to each.
func (s *mirrorSummary) check(t *testing.T, sent []uint64) (lost uint64) {
	t.Helper()
	var delivered uint64
	for k, m := range mirrors {
		at := slices.IndexFunc(s.Interfaces, func(i mirrorCounts) bool { return i.Interface == m.target })
		if at < 0 {
			t.Fatalf("no %s in %+v", m.target, s)
		}
		i := s.Interfaces[at]
		if i.Received != sent[k] || i.Points > 1024+8 {
			t.Errorf("%d datagrams were sent: %+v", sent[k], i)
		}
		lost += i.Dropped
		delivered += i.Received - i.Dropped - i.Malformed["header"] - i.Malformed["content"] - i.Control
	}
	if delivered != s.In {
		t.Errorf("%d packets, want %d", s.In, delivered)
	}
	return lost
}

// checkHonest wants the packets of honest points once each in an output, if nothing was lost.
func checkHonest(t *testing.T, name string, lost uint64) {
	t.Helper()
	times := map[string]int{}
	src, err := pcapfile.Open(name, pcapfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	for b := (packetsource.Batch{}); src.Next(&b) == nil; {
		for i := range b.Frames {
			times[string(b.Data(i))]++
		}
	}
	for round := range 2 {
		for k, m := range mirrors {
			for i := range honestPackets {
				if n := times[string(honestFrame(round, k*100+i))]; n != 1 && lost == 0 {
					t.Fatalf("packet %d of round %d is %d times in the output: %s", i, round, n, m.target)
				}
			}
		}
	}
}
