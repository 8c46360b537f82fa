// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
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

func fragmentsOf(t *testing.T, text string) (s struct {
	PacketsIn  uint64 `json:"packets_in"`
	Duplicates uint64 `json:"duplicates"`
	Whole      uint64 `json:"reassembled"`
	Joined     uint64 `json:"fragments_joined"`
	Left       uint64 `json:"fragments"`
},
) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestFragments finds the copies of packets that come in fragments, of different sizes and orders. Kept
// and removed packets are as they came: all fragments of a packet, or none. Batches and workers
// change nothing, and verify agrees.
func TestFragments(t *testing.T) {
	t.Parallel()
	stream, packets := tunnelStream(t, none)
	in := clitest.WriteStream(t, stream, 2)
	for _, flags := range [][]string{{"--keep", "first"}, {"--keep", "flow"}, {"--keep", "first", "--ignore", "l4-checksum"}, {"--sort", "1ms"}} {
		var before []byte
		for seed := range uint64(6) {
			dir := t.TempDir()
			kept, removed := filepath.Join(dir, "kept.pcapng"), filepath.Join(dir, "removed.pcapng")
			args := append([]string{"dedup", "--json", "--identity", "inner", "--workers", string(rune('1' + seed%3)), "-w", kept, "--duplicates", removed, in}, flags...)
			out, errs, code := clitest.RunCut(seed, args...)
			if code != cli.ExitDone {
				t.Fatalf("exit code %d: %s", code, errs)
			}
			n := uint64(len(packets))
			if s := fragmentsOf(t, out); s.PacketsIn != 3*n || s.Duplicates != 2*n || s.Left != 0 || s.Joined+3*n != s.Whole+uint64(len(stream)) || s.Whole == 0 {
				t.Errorf("%v: %+v of %d packets", flags, s, n)
			}
			var all []string
			for _, p := range stream {
				all = append(all, p.Data)
			}
			got := append(dataOf(t, kept), dataOf(t, removed)...)
			slices.Sort(all)
			if slices.Sort(got); !slices.Equal(got, all) {
				t.Errorf("%v: %d packets are written, want %d", flags, len(got), len(all))
			}
			check := []string{"verify", "--identity", "inner", in, kept, removed}
			if flags[0] == "--sort" || len(flags) > 2 {
				check = append(check, flags[len(flags)-2:]...)
			}
			if text, errs, code := clitest.Run(check...); code != cli.ExitDone {
				t.Errorf("verify, %v: exit code %d: %s%s", flags, code, text, errs)
			}
			now := clitest.ReadFile(t, kept)
			if seed == 0 {
				before = now
			} else if !bytes.Equal(now, before) {
				t.Errorf("%v: seed %d: another output", flags, seed)
			}
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
	text, errs, code := clitest.Run("dedup", "--json", "--identity", "inner", "--strip", "tunnel", "-w", out, in)
	if code != cli.ExitDone {
		t.Fatal(errs)
	}
	left := 0
	for _, p := range dataOf(t, out) {
		if strings.HasPrefix(p, "\x02\x00\x00\x00\x00\x01") {
			left++
		}
	}
	if s := fragmentsOf(t, text); s.Left != uint64(lost) || left != lost || lost == 0 || len(dataOf(t, out)) != len(packets)+lost {
		t.Errorf("%+v, %d fragments are left, want %d", s, left, lost)
	}
}

// TestFragmentsCounted counts flows in fragments of tunnels, and compares a capture of them with one of
// the packets.
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
		var rows [2]string
		for i, in := range []string{tunnels, bare} {
			text, errs, code := clitest.Run("distinct", "--inner", "--of", of, "--json", in)
			if code != cli.ExitDone || errs != "" {
				t.Fatalf("exit code %d: %s", code, errs)
			}
			for line := range strings.Lines(text) {
				var row struct {
					Family   string `json:"family"`
					Distinct uint64 `json:"distinct"`
				}
				if err := json.Unmarshal([]byte(line), &row); err != nil {
					t.Fatal(err)
				}
				rows[i] += fmt.Sprint(row)
			}
		}
		if rows[0] != rows[1] || rows[0] == "" {
			t.Errorf("%s: %s in tunnels, %s", of, rows[0], rows[1])
		}
	}
	text, errs, _ := clitest.Run("compare", "--json", "--identity", "inner", tunnels, bare)
	var s struct {
		Both  int `json:"both"`
		OnlyB int `json:"only_b"`
	}
	if err := json.Unmarshal([]byte(text), &s); err != nil || s.Both != len(packets) || s.OnlyB != 0 {
		t.Errorf("compare: %v %s, %+v of %d packets", err, errs, s, len(packets))
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
	out, errs, code := clitest.Run("dedup", "--json", "--identity", "inner", "--tunnel", "10800=vxlan", in)
	if s := fragmentsOf(t, out); code != cli.ExitDone || s.Whole == 0 || s.Joined != uint64(len(stream)) || s.Whole*2 != s.Joined || s.Left != 0 {
		t.Errorf("exit code %d, %s: %+v of %d fragments", code, errs, s, len(stream))
	}
	out, errs, code = clitest.Run("dedup", "--json", "--identity", "inner", in)
	if s := fragmentsOf(t, out); code != cli.ExitDone || s.Whole != 0 || s.PacketsIn != uint64(len(stream)) {
		t.Errorf("unnamed: exit code %d, %s: %+v", code, errs, s)
	}
}
