// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

func be16(v int) []byte { return binary.BigEndian.AppendUint16(nil, uint16(v)) }

func joined(parts ...[]byte) []byte { return slices.Concat(parts...) }

// onesSum returns the checksum of the words of all parts.
func onesSum(parts ...[]byte) uint16 {
	sum, all := 0, joined(parts...)
	for i, b := range all {
		sum += int(b) << (8 * (1 - i%2))
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

var (
	evadeMACs = []byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1}
	evadeEnds = []byte{10, 0, 0, 1, 10, 0, 0, 2}
)

func evadeEther(typ int, payload ...[]byte) []byte {
	return joined(evadeMACs, be16(typ), joined(payload...))
}

// evadeIP returns an IPv4 packet.
func evadeIP(id, ttl, proto int, payload []byte) []byte {
	h := joined([]byte{0x45, 0}, be16(20+len(payload)), be16(id), []byte{0x40, 0, byte(ttl), byte(proto), 0, 0}, evadeEnds)
	binary.BigEndian.PutUint16(h[10:], onesSum(h))
	return append(h, payload...)
}

func evadeTCP(sequence int, payload string) []byte {
	s := joined(be16(40000), be16(80), be16(0), be16(sequence), []byte{0, 0, 0, 9, 0x50, 0x18, 32, 0, 0, 0, 0, 0}, []byte(payload))
	binary.BigEndian.PutUint16(s[16:], onesSum(evadeEnds, []byte{0, 6}, be16(len(s)), s, make([]byte, len(s)%2)))
	return s
}

func evadeUDP(port int, payload ...[]byte) []byte {
	p := joined(payload...)
	return evadeIP(9, 64, 17, joined(be16(1234), be16(port), be16(8+len(p)), be16(0), p))
}

// changed returns a copy of p with a byte inverted.
func changed(p []byte, at int) []byte {
	p = slices.Clone(p)
	p[at] ^= 0x55
	return p
}

// evasions are forms of a packet p that neither receivers nor all sensors take for it.
var evasions = map[string]func(id int, p []byte) []byte{
	"sum": func(_ int, p []byte) []byte { return evadeEther(0x0800, changed(p, 10)) },
	"ttl": func(id int, p []byte) []byte { return evadeEther(0x0800, evadeIP(id, 0, 6, p[20:])) },
	"tcp": func(_ int, p []byte) []byte { return evadeEther(0x0800, changed(p, 36)) },
	"batman": func(_ int, p []byte) []byte {
		return evadeEther(0x4305, []byte{0x40, 15, 50, 1}, evadeMACs[:6], evadeEther(0x0800, p))
	},
	"pbb": func(_ int, p []byte) []byte { return evadeEther(0x88e7, []byte{0, 0, 1, 0}, evadeEther(0x0800, p)) },
	"trill": func(_ int, p []byte) []byte {
		return evadeEther(0x22f3, be16(0x3f), be16(1), be16(2), evadeEther(0x0800, p))
	},
	"nsh":        func(_ int, p []byte) []byte { return evadeEther(0x894f, []byte{0x0f, 0xc2, 1, 1, 0, 0, 1, 0xff}, p) },
	"vntag":      func(_ int, p []byte) []byte { return evadeEther(0x8926, make([]byte, 4), be16(0x0800), p) },
	"etag":       func(_ int, p []byte) []byte { return evadeEther(0x893f, make([]byte, 6), be16(0x0800), p) },
	"fabricpath": func(_ int, p []byte) []byte { return evadeEther(0x8903, be16(1<<6|32), evadeEther(0x0800, p)) },
	"tags": func(_ int, p []byte) []byte {
		return evadeEther(0x9200, be16(1), be16(0x9100), be16(2), be16(0x9100), be16(3), be16(0x0800), p)
	},
	"mpls": func(_ int, p []byte) []byte { return evadeEther(0x8847, []byte{0, 1, 1, 64}, p) },
	"pppoe": func(_ int, p []byte) []byte {
		return evadeEther(0x8864, []byte{0x11, 0, 0, 1}, be16(len(p)+2), be16(0x21), p)
	},
	"snap": func(_ int, p []byte) []byte { return evadeEther(8+len(p), []byte{0xaa, 0xaa, 3, 0, 0, 0, 8, 0}, p) },
	"isl": func(_ int, p []byte) []byte {
		return joined([]byte{1, 0, 0x0c, 0, 0, 0}, evadeMACs[6:], be16(len(p)+26), []byte{0xaa, 0xaa, 3, 0, 0, 0x0c, 0, 20, 0, 0, 0, 0}, evadeEther(0x0800, p))
	},
	"hsr": func(_ int, p []byte) []byte { return evadeEther(0x892f, be16(len(p)+6), be16(1), be16(0x0800), p) },
	"macsec": func(_ int, p []byte) []byte {
		return evadeEther(0x88e5, []byte{0, 0, 0, 0, 0, 1}, be16(0x0800), p, make([]byte, 16))
	},
	"gre": func(_ int, p []byte) []byte {
		return evadeEther(0x0800, evadeIP(9, 64, 47, joined(be16(0), be16(0x0800), p)))
	},
	"ipip": func(_ int, p []byte) []byte { return evadeEther(0x0800, evadeIP(9, 64, 4, p)) },
	"tzsp": func(_ int, p []byte) []byte {
		return evadeEther(0x0800, evadeUDP(37008, []byte{1, 0, 0, 1, 1}, evadeEther(0x0800, p)))
	},
	"vxlan": func(_ int, p []byte) []byte {
		return evadeEther(0x0800, evadeUDP(4789, []byte{8, 0, 0, 0, 0, 0, 1, 0}, evadeEther(0x0800, p)))
	},
}

// isKnown reports whether these flags distinguish a form from the right packet. Headers are
// distinguished only if --for says who reads them. Tunnels are opened by identity inner only.
func isKnown(form, flags string) bool {
	switch form {
	case "sum", "ttl", "tcp":
		return true
	case "gre", "ipip", "tzsp", "vxlan":
		return !strings.Contains(flags, "inner") || strings.Contains(flags, "--for")
	}
	return strings.Contains(flags, "--for")
}

// evadeCapture is a capture of packets, each after its form, and with twice again at once. It
// returns the right packets.
func evadeCapture(t *testing.T, name, form string, gap time.Duration, twice bool) (right []string) {
	t.Helper()
	capture := clitest.NewPcap(1)
	now := int64(1_700_000_000_000_000_000)
	write := func(frame []byte) { capture.Add(now, frame) }
	for id := 1; id <= 60; id++ {
		now += int64(50 * time.Millisecond)
		p := evadeIP(id, 64, 6, evadeTCP(id, fmt.Sprintf("GET /%d HTTP/1.1", id)))
		write(evasions[form](id, p))
		now += int64(gap)
		frame := evadeEther(0x0800, p)
		right = append(right, string(frame))
		write(frame)
		if twice {
			now += int64(3 * time.Microsecond)
			write(frame)
		}
	}
	clitest.WriteInput(t, name, capture)
	return right
}

// TestEvasions sends each packet first in a form that nobody takes for it. Each right packet is
// left, once.
func TestEvasions(t *testing.T) {
	gaps := []time.Duration{10 * time.Microsecond, 900 * time.Microsecond, 15 * time.Millisecond}
	for form := range evasions {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			in, out := filepath.Join(t.TempDir(), "in.pcap"), filepath.Join(t.TempDir(), "out.pcap")
			for i, gap := range gaps {
				right := evadeCapture(t, in, form, gap, i != 1)
				for _, flags := range clitest.Sample(4, []string{
					"", "--keep first", "--identity inner", "--ignore l4-checksum", "--for suricata", "--for zeek", "--for arkime",
					"--window 1s", "--window 1s --ignore l4-checksum", "--window 1s --ignore nat --keep first", "--window none --identity-bytes 60",
					"--window n:1000", "--window 1s --for zeek --identity inner", "--for suricata --keep first --identity inner",
				}) {
					if !isKnown(form, flags) {
						continue
					}
					args := append(strings.Fields(flags), in, "-w", out)
					clitest.RunDedup(t, cli.ExitDone, args...)
					left := clitest.FramesOf(t, out)
					kept := slices.DeleteFunc(slices.Clone(left), func(f string) bool { return !slices.Contains(right, f) })
					if form == "tags" {
						kept = slices.Compact(kept) // --strip vlan has made the forms right
					}
					if !slices.Equal(kept, right) {
						t.Errorf("%v, %s: %d right packets of %d are left, %d of all", gap, flags, len(kept), len(right), len(left))
					}
				}
			}
		})
	}
}

// TestEvasionsReplaced removes forms for which the right packet comes within the hold, and counts
// the same where nothing is written.
func TestEvasionsReplaced(t *testing.T) {
	in, out := filepath.Join(t.TempDir(), "in.pcap"), filepath.Join(t.TempDir(), "out.pcap")
	for _, c := range []struct{ form, flags string }{
		{"sum", ""}, {"ttl", "--identity inner"}, {"tcp", "--ignore l4-checksum"}, {"nsh", "--for zeek"}, {"gre", "--for suricata --identity inner"},
	} {
		right := evadeCapture(t, in, c.form, 100*time.Microsecond, true)
		flags := strings.Fields(c.flags)
		counted := clitest.RunDedup(t, cli.ExitDone, append(flags, in)...)
		clitest.RunDedup(t, cli.ExitDone, append(flags, in, "-w", out)...)
		if left := clitest.FramesOf(t, out); !slices.Equal(left, right) || counted.PacketsOut != uint64(len(right)) {
			t.Errorf("%s %s: %d packets are left and %d counted, want %d", c.form, c.flags, len(left), counted.PacketsOut, len(right))
		}
	}
}

// TestEvasionsVerified finds that verify agrees, and that batches and workers do not matter.
func TestEvasionsVerified(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in.pcap")
	for _, form := range []string{"sum", "ttl", "tcp"} {
		for i, gap := range []time.Duration{20 * time.Microsecond, 15 * time.Millisecond} {
			evadeCapture(t, in, form, gap, i > 0)
			for _, flags := range []string{"", "--window 1s", "--ignore l4-checksum", "--window 1s --ignore l4-checksum", "--window n:9 --ignore l4-checksum", "--across", "--window 1s --ignore l4-checksum --prefer first"} {
				clitest.Cleaned(t, filepath.Join(dir, "out.pcap"), filepath.Join(dir, "copies.pcap"), []string{in}, strings.Fields(flags))
			}
		}
	}
}

// isFit reports whether a receiver takes a packet, as far as the model's frames tell.
func (m *dedupModel) isFit(p *clitest.Seen) bool {
	f := []byte(p.Data)
	at := clitest.PayloadAt(f)
	ip, end := f[at:], 0
	switch binary.BigEndian.Uint16(f[at-2:]) {
	case 0x0800:
		end = at + int(binary.BigEndian.Uint16(ip[2:]))
		if ip[8] == 0 || ip[10]|ip[11] != 0 && onesSum(ip[:20]) != 0 {
			return false
		}
	case 0x86dd:
		end = at + 40 + int(binary.BigEndian.Uint16(ip[4:]))
		if ip[7] == 0 {
			return false
		}
	}
	return m.bytes == 0 || end <= int(p.Wire)
}
