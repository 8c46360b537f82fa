// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"encoding/binary"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// inGRE returns a frame in GRE from a host, in fragments over an MTU.
func inGRE(frame string, host byte, id uint16, mtu int) (all []string) {
	return inFragments(47, "\x00\x00\x65\x58"+frame, host, id, mtu)
}

// inFragments returns a datagram of a protocol from a host, in fragments over an MTU.
func inFragments(protocol byte, payload string, host byte, id uint16, mtu int) (all []string) {
	step := (mtu - 20) &^ 7
	for from := 0; from < len(payload); from += step {
		part, field := payload[from:min(from+step, len(payload))], uint16(from/8)
		if from+step < len(payload) {
			field |= 0x2000
		}
		ip := binary.BigEndian.AppendUint16([]byte{0x45, 0}, uint16(20+len(part)))
		ip = binary.BigEndian.AppendUint16(ip, id)
		ip = binary.BigEndian.AppendUint16(ip, field)
		ip = append(ip, 64, protocol, 0, 0, 10, 9, 9, host, 10, 9, 9, 99)
		all = append(all, "\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02\x08\x00"+string(ip)+part)
	}
	return all
}

// tunnelStream is a stream of packets, each in two tunnels over different MTUs and as it is, and what
// these packets are. lost says which fragments of the first tunnel are missing.
func tunnelStream(t *testing.T, lost func(packet, fragment int) bool) (stream []clitest.Seen, packets []string) {
	for i, p := range clitest.ReadStream(t, clitest.Bundled("router-plain.pcapng")) {
		if p.Iface != 0 {
			continue
		}
		at := int64(time.Hour) + int64(i)*int64(2*time.Millisecond)
		packets = append(packets, p.Data)
		add := func(data string, iface int) {
			stream = append(stream, clitest.Seen{Record: clitest.Record{Time: at, Wire: uint32(len(data)), Data: data}, Iface: iface})
			at += 1000
		}
		for k, f := range inGRE(p.Data, 1, uint16(i), 1500) {
			if !lost(i, k) {
				add(f, 0)
			}
		}
		for _, f := range slices.Backward(inGRE(p.Data, 2, uint16(i), 1400)) {
			add(f, 1)
		}
		add(p.Data, 1)
	}
	return stream, packets
}

func none(int, int) bool { return false }

func dataOf(t *testing.T, name string) (all []string) {
	for _, p := range clitest.PacketBytes(t, name) {
		all = append(all, string(p))
	}
	return all
}

// TestFragments finds the copies of packets that come in fragments, of different sizes and orders. Kept
// and removed packets are as they came: all fragments of a packet, or none.
func TestFragments(t *testing.T) {
	t.Parallel()
	stream, packets := tunnelStream(t, none)
	in := clitest.WriteStream(t, stream, 2)
	var all []string
	for _, p := range stream {
		all = append(all, p.Data)
	}
	slices.Sort(all)
	for _, flags := range []string{"--keep first", "--keep flow", "--keep first --ignore l4-checksum", "--sort 1ms", "--strip vlan"} {
		dir, n := t.TempDir(), uint64(len(packets))
		kept, removed := filepath.Join(dir, "kept.pcapng"), filepath.Join(dir, "removed.pcapng")
		s := clitest.Cleaned(t, kept, removed, []string{in}, strings.Fields("--identity inner "+flags))
		if s.PacketsIn != 3*n || s.Duplicates != 2*n || s.Left != 0 || s.Joined+3*n != s.Datagrams+uint64(len(stream)) || s.Datagrams == 0 {
			t.Errorf("%s: %+v of %d packets", flags, s.Stats, n)
		}
		got := append(dataOf(t, kept), dataOf(t, removed)...)
		if slices.Sort(got); !slices.Equal(got, all) {
			t.Errorf("%s: %d packets are written, want %d", flags, len(got), len(all))
		}
	}
}

// TestFragmentsStripped takes tunnels off packets in fragments, in files of each kind.
func TestFragmentsStripped(t *testing.T) {
	t.Parallel()
	stream, packets := tunnelStream(t, none)
	ng := clitest.WriteStream(t, stream, 2)
	classic := filepath.Join(t.TempDir(), "in.pcap")
	clitest.RunDedup(t, cli.ExitDone, "--window", "none", "--identity", "frame", "--only", "less 1", "-w", classic, ng)
	for _, in := range []string{ng, classic} {
		for _, identity := range []string{"inner", "l3"} {
			out := filepath.Join(t.TempDir(), "out.pcapng")
			removed := filepath.Join(t.TempDir(), "removed.pcapng")
			clitest.RunDedup(t, cli.ExitDone, "--identity", identity, "--strip", "tunnel", "-w", out, "--duplicates", removed, in)
			got, want := dataOf(t, out), packets
			if identity == "l3" { // the datagrams of the tunnels differ
				want = nil
				for _, p := range packets {
					want = append(want, p, p, p)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s, %s: %d packets, want %d", in, identity, len(got), len(want))
			}
			if n := len(dataOf(t, removed)); n != 0 && identity == "l3" || n == 0 && identity == "inner" {
				t.Errorf("%s, %s: %d packets are removed", in, identity, n)
			}
		}
	}
}

// TestFragmentsMissing keeps fragments as they came whose others are missing.
func TestFragmentsMissing(t *testing.T) {
	t.Parallel()
	lost := 0
	stream, packets := tunnelStream(t, func(packet, fragment int) bool {
		return fragment == packet%2 && packet%3 == 0
	})
	for i, p := range clitest.ReadStream(t, clitest.Bundled("router-plain.pcapng")) {
		if n := len(inGRE(p.Data, 1, 0, 1500)); p.Iface == 0 && n > 1 && i%3 == 0 {
			lost++
		}
	}
	in := clitest.WriteStream(t, stream, 2)
	out := filepath.Join(t.TempDir(), "out.pcapng")
	s := clitest.RunDedup(t, cli.ExitDone, "--identity", "inner", "--strip", "tunnel", "-w", out, in)
	left := 0
	for _, p := range dataOf(t, out) {
		if strings.HasPrefix(p, "\x02\x00\x00\x00\x00\x01") {
			left++
		}
	}
	if s.Left != uint64(lost) || left != lost || lost == 0 || len(dataOf(t, out)) != len(packets)+lost {
		t.Errorf("%+v, %d fragments are left, want %d", s.Stats, left, lost)
	}
}

// TestFragmentsCounted counts flows in fragments of tunnels, and compares a capture of the fragments
// with a capture of the packets.
func TestFragmentsCounted(t *testing.T) {
	t.Parallel()
	stream, packets := tunnelStream(t, none)
	var inside, plain []clitest.Seen
	for _, p := range stream {
		if p.Data[:6] == "\x02\x00\x00\x00\x00\x01" {
			inside = append(inside, p)
		} else {
			plain = append(plain, p)
		}
	}
	tunnels, bare := clitest.WriteStream(t, inside, 2), clitest.WriteStream(t, plain, 2)
	for _, of := range []string{"flow", "src"} {
		inside, outside := clitest.RunDistinct(t, "--inner", "--of", of, tunnels), clitest.RunDistinct(t, "--inner", "--of", of, bare)
		if !slices.EqualFunc(inside, outside, func(a, b clitest.DistinctRow) bool { return a.Name() == b.Name() && a.Distinct == b.Distinct }) || len(inside) == 0 {
			t.Errorf("%s: %v in tunnels, %v", of, inside, outside)
		}
	}
	if c, errs := clitest.RunCompare(t, cli.ExitDifferent, "--identity", "inner", tunnels, bare); c.Both != uint64(len(packets)) || c.OnlyB != 0 {
		t.Errorf("compare: %s, %+v of %d packets", errs, c, len(packets))
	}
}

// TestFragmentsOfNamedPort puts the fragments of a tunnel at a port together that only the user names.
func TestFragmentsOfNamedPort(t *testing.T) {
	t.Parallel()
	const frame = 1500
	var stream []clitest.Seen
	for i, p := range clitest.ReadStream(t, clitest.Bundled("router-plain.pcapng")) {
		inside := p.Data + strings.Repeat("\x00", max(frame-len(p.Data), 0))
		udp := binary.BigEndian.AppendUint16([]byte{0x13, 0x88, 10800 >> 8, 10800 & 0xff}, uint16(16+len(inside)))
		payload := string(udp) + "\x00\x00" + "\x08\x00\x00\x00\x00\x00\x07\x00" + inside
		for _, f := range inFragments(17, payload, 1, uint16(i), 1500) {
			stream = append(stream, clitest.Seen{Record: clitest.Record{Time: int64(time.Hour) + int64(i)*1000, Wire: uint32(len(f)), Data: f}})
		}
	}
	in := clitest.WriteStream(t, stream, 1)
	if s := clitest.RunDedup(t, cli.ExitDone, "--identity", "inner", "--tunnel", "10800=vxlan", in); s.Datagrams == 0 || s.Joined != uint64(len(stream)) || s.Datagrams*2 != s.Joined || s.Left != 0 {
		t.Errorf("%+v of %d fragments", s.Stats, len(stream))
	}
	if s := clitest.RunDedup(t, cli.ExitDone, "--identity", "inner", in); s.Datagrams != 0 || s.PacketsIn != uint64(len(stream)) {
		t.Errorf("unnamed: %+v, %d packets", s.Stats, s.PacketsIn)
	}
}
