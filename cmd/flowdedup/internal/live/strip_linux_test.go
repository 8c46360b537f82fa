// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"encoding/binary"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// inUDP returns an Ethernet frame with a UDP packet that carries content.
func inUDP(port uint16, content string) []byte {
	be := binary.BigEndian
	b := []byte("\x02\x00\x00\x00\x00\x02\x02\x00\x00\x00\x00\x01\x81\x00\x00\x07\x08\x00\x45\x00")
	b = be.AppendUint16(b, uint16(28+len(content)))
	b = append(b, "\x00\x00\x00\x00\x40\x11\x00\x00\x0a\x09\x00\x01\x0a\x09\x00\x02\x10\x00"...)
	b = be.AppendUint16(b, port)
	b = be.AppendUint16(b, uint16(8+len(content)))
	return append(append(b, 0, 0), content...)
}

// TestLiveStrip takes packets out of tunnels. Ethernet frames are forwarded, and all packets
// are written.
func TestLiveStrip(t *testing.T) {
	t.Parallel()
	clitest.Lab(t, "left right", "out sensor")
	dir := t.TempDir()
	seen, kept := filepath.Join(dir, "sensor.pcapng"), filepath.Join(dir, "kept.pcapng")
	const n = 50
	sensor := startLive(t, "-i", "sensor", "-w", seen, "--method", "exact", "--window", "n:1", "--json")
	r := startLive(t, "-i", "left", "--forward", "out", "-w", kept, "--strip", "vlan,tunnel", "--identity", "inner", "--json", "--window", "5s")
	var want, forwarded []string
	var frames [][]byte
	for id := range uint16(n) {
		plain := string(clitest.Frame{ID: id, TTL: 64}.Bytes())
		tagged := clitest.Frame{ID: n + id, TTL: 64, VLAN: 9}
		untagged := tagged
		untagged.VLAN = 0
		user := string(clitest.Frame{ID: 2*n + id, TTL: 64}.Bytes()[14:])
		frames = append(frames, inUDP(4789, "\x08\x00\x00\x00\x00\x00\x05\x00"+plain), tagged.Bytes(),
			inUDP(2152, "\x30\xff"+string(binary.BigEndian.AppendUint16(nil, uint16(len(user))))+"\x00\x00\x00\x07"+user))
		want = append(want, plain, string(untagged.Bytes()), user)
		forwarded = append(forwarded, plain, string(untagged.Bytes()))
	}
	clitest.SendBytes(t, "right", frames...)
	s := r.finish()
	if s.forwarded("sent") != 2*n || s.forwarded("not_ethernet") != n || s.forwarded("lost") != 0 {
		t.Errorf("%+v", s)
	}
	stderr := r.Stderr.String()
	for _, text := range []string{"without Ethernet are not sent: one of left gtp:7", "out: 50 of 150 packets were not sent"} {
		if strings.Count(stderr, text) != 1 {
			t.Errorf("%q is not told once in\n%s", text, stderr)
		}
	}
	sensor.finish()
	for name, want := range map[string][]string{kept: want, seen: forwarded} {
		got := clitest.FramesOf(t, name)
		if len(got) != len(want) {
			t.Fatalf("%s: %d packets, want %d", name, len(got), len(want))
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("%s: packet %d is %x, want %x", name, i, got[i], want[i])
			}
		}
	}
}

// fragmentsOf returns the two fragments of a frame in GRE from a host.
func fragmentsOf(host byte, id uint16, frame string) (all [][]byte) {
	payload := "\x00\x00\x65\x58" + frame
	const first = 800
	for i, part := range []string{payload[:first], payload[first:]} {
		b := []byte("\x02\x00\x00\x00\x00\x02\x02\x00\x00\x00\x00\x01\x08\x00\x45\x00")
		b = binary.BigEndian.AppendUint16(b, uint16(20+len(part)))
		b = binary.BigEndian.AppendUint16(b, id)
		b = binary.BigEndian.AppendUint16(b, []uint16{0x2000, first / 8}[i])
		b = append(b, 64, 47, 0, 0, 10, 9, 0, host, 10, 9, 0, 99)
		all = append(all, append(b, part...))
	}
	return all
}

// TestLiveFragments finds the copies of packets in fragments of tunnels. They are forwarded as they
// came, out of the capture ring, or taken out of their tunnels.
func TestLiveFragments(t *testing.T) {
	t.Parallel()
	clitest.Lab(t, "left right", "out sensor")
	for range 5 {
		if passFragments(t) {
			return
		}
	}
	t.Skip("the machine is too busy: fragments of a datagram came further apart than the program waits")
}

// passFragments returns false if sending took so long that a run may have given fragments up.
func passFragments(t *testing.T) bool {
	dir := t.TempDir()
	seen, kept := filepath.Join(dir, "sensor.pcapng"), filepath.Join(dir, "kept.pcapng")
	const n, patience = 30, 50 * time.Millisecond
	sensor := startLive(t, "-i", "sensor", "-w", seen, "--method", "exact", "--window", "n:1", "--json")
	forward := startLive(t, "-i", "left", "--forward", "out", "--identity", "inner", "--json", "--window", "5s")
	strip := startLive(t, "-i", "left", "-w", kept, "--strip", "tunnel", "--identity", "inner", "--json", "--window", "5s")
	var frames [][]byte
	alone := clitest.Frame{ID: 1000, TTL: 64}.Bytes() // in a batch that stays in the ring
	clitest.SendBytes(t, "right", alone)
	time.Sleep(200 * time.Millisecond)
	forwarded, stripped := []string{string(alone)}, []string{string(alone)}
	for id := range uint16(n) {
		plain := string(clitest.Frame{ID: id, TTL: 64}.Bytes())
		plain += strings.Repeat("\x00", 1000) // behind the datagram
		one, two := fragmentsOf(1, id, plain), fragmentsOf(2, id, plain)
		frames = append(frames, one[0], two[1], one[1], two[0])
		forwarded = append(forwarded, string(one[0]), string(one[1]))
		stripped = append(stripped, plain)
	}
	// The last fragment lacks another one.
	frames = append(frames, fragmentsOf(3, 1, stripped[1])[0])
	forwarded, stripped = append(forwarded, string(frames[4*n])), append(stripped, string(frames[4*n]))
	begun := time.Now()
	clitest.SendBytes(t, "right", frames...)
	took := time.Since(begun)
	forward.finish()
	strip.finish()
	sensor.finish()
	if took > patience {
		return false
	}
	for name, want := range map[string][]string{seen: forwarded, kept: stripped} {
		got := clitest.FramesOf(t, name)
		if len(got) != len(want) {
			t.Errorf("%s: %d packets, want %d", name, len(got), len(want))
			continue
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("%s: packet %d is %x, want %x", name, i, got[i], want[i])
			}
		}
	}
	return true
}

// TestLiveSlice cuts kept packets and copies behind their UDP header. They were compared as a
// whole.
func TestLiveSlice(t *testing.T) {
	t.Parallel()
	clitest.Lab(t, "left right")
	dir := t.TempDir()
	kept, copies := filepath.Join(dir, "kept.pcapng"), filepath.Join(dir, "copies.pcap")
	r := startLive(t, "-i", "left", "-w", kept, "--duplicates", copies, "--slice", "l4+2", "--json", "--window", "5s")
	const n = 40
	var frames [][]byte
	for id := range byte(n) {
		content := "ab differ here only: " + string([]byte{id})
		frames = append(frames, inUDP(53, content), inUDP(53, content))
	}
	clitest.SendBytes(t, "right", frames...)
	if s := r.finish(); s.Duplicates != n || !strings.Contains(r.Stdout.String(), `"sliced":80,"unsliced":0`) {
		t.Errorf("%+v: %s", s, &r.Stdout)
	}
	for _, name := range []string{kept, copies} {
		got := clitest.FramesOf(t, name)
		if len(got) != n {
			t.Fatalf("%s: %d packets", name, len(got))
		}
		for i, frame := range got {
			if want := string(frames[2*i][:18+20+8+2]); frame != want {
				t.Fatalf("%s: packet %d is %x, want %x", name, i, frame, want)
			}
		}
	}
}
