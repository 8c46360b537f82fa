// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// stations are the hardware addresses of an Ethernet frame.
const stations = "\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02"

// numbered4 is UDP packet n, from one of several sources.
func numbered4(n, sources int) []byte {
	payload := fmt.Appendf(nil, "packet %06d", n)
	ip := append([]byte("\x45\x00\x00\x00\x00\x00\x00\x00\x40\x11\x00\x00\xc0\x00\x02\x00\xc6\x33\x64\x02\x03\xe8\x07\xd0\x00\x00\x00\x00"), payload...)
	binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
	binary.BigEndian.PutUint16(ip[4:], uint16(n+1))
	binary.BigEndian.PutUint16(ip[24:], uint16(8+len(payload)))
	ip[15] = byte(n % sources)
	sum := 0
	for o := 0; o < 20; o += 2 {
		sum += int(binary.BigEndian.Uint16(ip[o:]))
	}
	binary.BigEndian.PutUint16(ip[10:], uint16(sum%0xffff^0xffff))
	return ip
}

// framesIn writes a capture of frames, each 100 µs after the one before.
func framesIn(t *testing.T, link capture.LinkType, frames ...[]byte) string {
	t.Helper()
	var b capture.Batch
	at := b.AppendInterface(capture.Interface{LinkType: link})
	for n, frame := range frames {
		b.Append(capture.Frame{Interface: at, Time: 1_700_000_000_000_000_000 + int64(n)*100_000}, frame)
	}
	return clitest.WriteInput(t, filepath.Join(t.TempDir(), "frames.pcapng"), clitest.Encoded(t, &b))
}

// lastAnswer runs a command with --json, and returns its last line and what it warned of.
func lastAnswer(t *testing.T, into any, args ...string) (warned string) {
	t.Helper()
	out, errs, code := clitest.Run(append(args, "--json")...)
	if code != cli.ExitDone && code != cli.ExitDifferent {
		t.Fatalf("%v: exit code %d: %s", args, code, errs)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), into); err != nil {
		t.Fatalf("%v: %v in %q", args, err, out)
	}
	return errs
}

type unopenedAnswer struct {
	Verdict        string
	NonIP          uint64 `json:"non_ip"`
	Unopened       map[string]uint64
	Duplicates     uint64
	Recommendation struct {
		Dedup bool
		Strip []string
	}
	A, B     struct{ Unopened map[string]uint64 }
	Both     uint64
	OnlyA    uint64 `json:"only_a"`
	OnlyB    uint64 `json:"only_b"`
	Distinct uint64
}

// TestUnopened says that packets were not opened: in each command, and not where all were.
func TestUnopened(t *testing.T) {
	arp := []byte(stations + "\x08\x06\x00\x01\x08\x00\x06\x04\x00\x01")
	var unknown, few, plain, link, broken [][]byte
	for n := range 100 {
		ip := numbered4(n, 10)
		strange := slices.Concat([]byte(stations+"\x88\xb5\x00\x01"), ip)
		unknown, link = append(unknown, strange, strange[:len(strange)-1]), append(link, ip)
		few = append(few, slices.Concat([]byte(stations+"\x08\x00"), ip))
		plain = append(plain, few[n], append(slices.Clone(arp), byte(n)))
	}
	few = append(few, unknown[0])
	for _, frame := range unknown { // announced as IP
		broken = append(broken, slices.Concat([]byte(stations+"\x08\x00"), frame[len(stations):]))
	}
	for _, c := range []struct {
		name    string
		link    capture.LinkType
		frames  [][]byte
		want    string // what was not opened
		count   uint64
		most    bool // of the packets
		verdict string
	}{
		{"an ethertype", capture.LinkEthernet, unknown, "ethertype-88b5", 200, true, "cannot tell whether there are copies: 100.0 % of the packets were not opened (ethertype-88b5 100.0 %)"},
		{"a link type", 290, link, "linktype-290", 100, true, "cannot tell whether there are copies: 100.0 % of the packets were not opened (linktype-290 100.0 %)"},
		{"no header of IP", capture.LinkEthernet, broken, "ethertype-0800", 200, true, "cannot tell whether there are copies: 100.0 % of the packets were not opened (ethertype-0800 100.0 %)"},
		{"one frame", capture.LinkEthernet, few, "ethertype-88b5", 1, false, "no copies within 1s among the packets that were opened (1 were not: ethertype-88b5 1.0 %): do not de-duplicate"},
		{"none", capture.LinkEthernet, plain, "", 0, false, "no copies within 1s: do not de-duplicate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file, other := framesIn(t, c.link, c.frames...), framesIn(t, c.link, c.frames...)
			check := func(got map[string]uint64, warned string) {
				t.Helper()
				if uint64(len(got)) != min(c.count, 1) || got[c.want] != c.count || strings.Contains(warned, "were not opened") != c.most {
					t.Errorf("%v, %q", got, warned)
				}
			}
			for _, command := range [][]string{{"dedup", file}, {"dedup", "--identity", "inner", file}, {"dedup", "--identity", "frame", file}, {"inspect", file}} {
				var got unopenedAnswer
				warned := lastAnswer(t, &got, command...)
				if command[0] == "inspect" {
					warned += got.Verdict
					if got.Verdict != c.verdict || got.Recommendation.Dedup {
						t.Errorf("%+v", got)
					}
				}
				check(got.Unopened, warned)
			}
			var got unopenedAnswer
			warned := lastAnswer(t, &got, "compare", file, other)
			check(got.A.Unopened, warned)
			check(got.B.Unopened, warned)
			if _, warned, _ := clitest.Run("distinct", "--of", "src", file); strings.Contains(warned, "were not opened") != c.most {
				t.Errorf("distinct: %q", warned)
			}
			text, _, _ := clitest.Run("dedup", file)
			if strings.Contains(text, "not opened") != (c.count > 0) {
				t.Errorf("%s", text)
			}
			if text, _, _ := clitest.Run("inspect", file); c.most && strings.Contains(text, "do not de-duplicate") {
				t.Errorf("%s", text)
			}
		})
	}
}

// TestArista takes packets of two switches that add the time: they are copies, of ten sources,
// in both halves, and --strip leaves what any reader reads.
func TestArista(t *testing.T) {
	var all, first, second, plain [][]byte
	for n := range 200 {
		ip := numbered4(n, 10)
		for side := range 2 {
			head := fmt.Appendf([]byte(stations), "\xd2\x8b\x00\x01\x00\x10secs%04d", 2*n+side)
			if n%2 == 1 {
				head = fmt.Appendf([]byte(stations), "\xd2\x8b\x00\x01\x00\x20se%04d", 2*n+side)
			}
			frame := slices.Concat(head, []byte("\x08\x00"), ip)
			all = append(all, frame)
			if side == 0 {
				first, plain = append(first, frame), append(plain, slices.Concat([]byte(stations+"\x08\x00"), ip))
			} else {
				second = append(second, frame)
			}
		}
	}
	file := framesIn(t, capture.LinkEthernet, all...)
	out := filepath.Join(t.TempDir(), "clean.pcapng")
	var got unopenedAnswer
	lastAnswer(t, &got, "dedup", "--strip", "arista", "-w", out, file)
	if got.Duplicates != 200 || got.NonIP != 0 || got.Unopened != nil {
		t.Errorf("%+v", got)
	}
	if left := clitest.PacketBytes(t, out); !slices.EqualFunc(left, plain, slices.Equal[[]byte]) {
		t.Errorf("%d packets left, want the %d without times", len(left), len(plain))
	}
	lastAnswer(t, &got, "inspect", file)
	if r := got.Recommendation; !r.Dedup || !slices.Equal(r.Strip, []string{"arista"}) {
		t.Errorf("inspect recommends %+v", r)
	}
	lastAnswer(t, &got, "distinct", "--of", "src", file)
	lastAnswer(t, &got, "compare", framesIn(t, capture.LinkEthernet, first...), framesIn(t, capture.LinkEthernet, second...))
	if got.Distinct != 10 || got.Both != 200 || got.OnlyA+got.OnlyB != 0 {
		t.Errorf("%+v", got)
	}
	if tshark := clitest.NeedTshark(t); len(clitest.FieldsOf(t, tshark, out, "ip.src")) != len(plain) {
		t.Error("tshark reads another number of packets")
	}
}
