// SPDX-License-Identifier: Apache-2.0

package flows_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/bench/lab/wait"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/flows"
)

const (
	honestRounds  = 60
	honestRecords = 20 // of a message
)

// honest sends what an exporter has of some flows, a message for each call. Its flows last a
// second each, and end now.
type honest struct {
	conn    net.Conn
	records uint32
}

// send sends a message of IPFIX, with the template in the first one and every tenth.
func (h *honest) send(t *testing.T, round int) {
	t.Helper()
	now := time.Now()
	m := ipfixMessage(1, now)
	binary.BigEndian.PutUint32(m[8:], h.records)
	const head, template, record = 16, 4 + 4 + 9*4, 45
	one := slices.Clone(m[head+template+4:])
	body := m[:head]
	if round%10 == 0 {
		body = m[:head+template]
	}
	set := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, 256), uint16(4+honestRecords*record))
	for n := range honestRecords {
		one[1], one[2], one[3] = 7, byte(round), byte(n) // of the source address
		set = append(set, one...)
	}
	m = append(slices.Clone(body), set...)
	binary.BigEndian.PutUint16(m[2:], uint16(len(m)))
	if _, err := h.conn.Write(m); err != nil {
		t.Fatal(err)
	}
	h.records += honestRecords
}

// forger sends messages from many addresses whose times, templates, sequence numbers and
// records are random. Some name the domain of the honest one.
type forger struct {
	random *rand.Rand
	conns  []net.Conn
}

func (a *forger) send(t *testing.T) {
	t.Helper()
	conn := a.conns[a.random.IntN(len(a.conns))]
	if _, err := conn.Write(a.message()); err != nil {
		t.Fatal(err)
	}
}

func (a *forger) message() []byte {
	be, r := binary.BigEndian, a.random
	switch r.IntN(4) {
	case 0: // NetFlow v5 with random times
		m := make([]byte, 24+30*48)
		for i := range m {
			m[i] = byte(r.Uint32())
		}
		be.PutUint16(m, 5)
		be.PutUint16(m[2:], 30)
		return m
	case 1: // templates of another meaning, in any domain
		m := ipfixMessage(r.Uint32N(1<<16), time.Unix(r.Int64N(1<<32), 0))
		be.PutUint32(m[8:], r.Uint32())
		for at := 16 + 8; at < 16+8+9*4; at += 4 {
			be.PutUint16(m[at:], uint16(1+r.IntN(300)))
		}
		return m
	case 2: // other flows in the domain of the honest one, at any time
		m := ipfixMessage(1, time.Unix(r.Int64N(1<<32), 0))
		be.PutUint32(m[8:], r.Uint32())
		be.PutUint32(m[len(m)-45:], r.Uint32()|1<<31)
		return m
	}
	m := make([]byte, 20+r.IntN(1400))
	for i := range m {
		m[i] = byte(r.Uint32())
	}
	be.PutUint16(m, uint16(9+r.IntN(2)))
	be.PutUint16(m[2:], uint16(len(m)))
	return m
}

// dialFrom returns a connection from an address to what listens at all of them.
func dialFrom(t *testing.T, from string) net.Conn {
	t.Helper()
	dialer := net.Dialer{LocalAddr: net.UDPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(from), 0))}
	conn, err := dialer.Dial("udp", "127.0.0.1:2055")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// waits reports whether a socket of the network of the test holds datagrams.
func waits(t *testing.T) bool {
	t.Helper()
	text := string(mustReadFile(t, "/proc/thread-self/net/udp")) + string(mustReadFile(t, "/proc/thread-self/net/udp6"))
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) > 4 && strings.Contains(fields[4], ":") && !strings.HasSuffix(fields[4], ":00000000") {
			return true
		}
	}
	return false
}

// TestFlowsAttacker runs an honest exporter and one that makes up addresses, times, templates
// and sequence numbers, with ten times as many messages. All records of the honest one are
// kept with their counters, none is lost or unchecked, as without the other. Its flows are its
// own: whoever reports a flow first owns it.
func TestFlowsAttacker(t *testing.T) {
	const memory, perRound = "4MiB", 10
	for _, attacked := range []bool{false, true} {
		t.Run(map[bool]string{false: "alone", true: "attacked"}[attacked], func(t *testing.T) {
			flowNet(t, 1)
			r := startFlows(t, "--memory", memory, "--window", "0s", "--of", "src", "--every", "1h", "--reports", tempFile(t, "reports", ""))
			good := &honest{conn: dialFrom(t, exporterAddress(1))}
			bad := &forger{random: rand.New(rand.NewPCG(36, 19))}
			for n := range 200 {
				if attacked {
					bad.conns = append(bad.conns, dialFrom(t, fmt.Sprintf("127.0.%d.%d", 1+n/100, 1+n%100)))
				}
			}
			for round := range honestRounds {
				good.send(t, round)
				for range len(bad.conns) / 200 * perRound {
					bad.send(t)
				}
				wait.Until(t, "sockets to be read", func() bool { return !waits(t) })
			}
			s := r.stop()
			checkHonest(t, r, &s)
		})
	}
}

// checkHonest compares what a run has of the honest exporter with what that has sent.
func checkHonest(t *testing.T, r *flowsRun, s *flows.Summary) {
	t.Helper()
	const all = honestRounds * honestRecords
	at := slices.IndexFunc(s.Points, func(p flows.PointSummary) bool { return p.Name == exporterAddress(1)+"/1" })
	if s.Dropped != 0 {
		t.Errorf("%d datagrams were dropped", s.Dropped)
	}
	if at < 0 {
		t.Fatalf("no point of the exporter among %d", len(s.Points))
	}
	if p := s.Points[at]; p.Records != all || p.Packets != all*10 || p.Bytes != all*1000 || p.Copies != 0 || p.Unchecked != 0 {
		t.Errorf("%+v, want %d records", p, all)
	}
	kept := map[string]bool{}
	for line := range strings.Lines(string(mustReadFile(t, r.out))) {
		if strings.Contains(line, `"sampler_address":"`+exporterAddress(1)+`"`) && strings.Contains(line, `"bytes":1000,"packets":10`) {
			_, source, _ := strings.Cut(line, `"src_addr":"`)
			source, _, _ = strings.Cut(source, `"`)
			kept[source] = true
		}
	}
	if len(kept) != all {
		t.Errorf("%d flows are written, want %d", len(kept), all)
	}
}
