// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// headersOnly writes a capture of 100 different datagrams over IPv6, from as many ports if
// they have ports of their own, of which the first bytes were captured: 62 end with the UDP
// header, whose checksum was left to the network card unless sum is set.
func headersOnly(t *testing.T, cut int, ports bool, sum byte) string {
	t.Helper()
	b := new(capture.Batch)
	n := b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet, SnapLen: uint32(cut)})
	for i := range 100 {
		frame := append(make([]byte, 12), 0x86, 0xdd, 0x60, 0, 0, 0, 0, 8+100, 17, 64)
		frame = append(frame, make([]byte, 31)...)
		frame = append(frame, 1, 0x10, 0, 0, 53, 0, 8+100, sum, sum)
		if ports {
			frame[55] = byte(i)
		}
		frame = append(frame, append(make([]byte, 99), byte(i))...)
		b.Append(capture.Frame{Time: 1e18 + int64(i)*1000, Interface: n, WireLen: uint32(len(frame))}, frame[:min(cut, len(frame))])
	}
	return clitest.WriteInput(t, filepath.Join(t.TempDir(), "headers.pcapng"), clitest.Encoded(t, b))
}

// TestHeadersOnly runs commands on captures in which packets are not distinguishable.
func TestHeadersOnly(t *testing.T) {
	for _, c := range []struct {
		cut                                int
		sum                                byte
		duplicates, undecidable, bySum     float64
		inspectUndecidable, inspectedBySum float64
		warns                              string
	}{
		{1000, 0, 0, 0, 0, 0, 0, ""},
		{62, 0, 0, 100, 0, 100, 0, "100 packets were truncated too short"},
		{62, 5, 99, 0, 99, 0, 99, ""},
	} {
		in := headersOnly(t, c.cut, false, c.sum)
		got, errs := object(t, "dedup", in)
		if got["duplicates"] != c.duplicates || got["undecidable"] != c.undecidable || got["checksum_only"] != c.bySum {
			t.Errorf("cut to %d, checksum %d: dedup says %v", c.cut, c.sum, got)
		}
		if known := got["checksum_only_error"]; (known != nil) != (c.bySum > 0) || c.bySum > 0 && known != 1.0/65536 {
			t.Errorf("cut to %d, checksum %d: error %v", c.cut, c.sum, known)
		}
		if strings.Contains(errs, "warning") != (c.warns != "") || !strings.Contains(errs, c.warns) {
			t.Errorf("cut to %d: %q, want %q", c.cut, errs, c.warns)
		}
		text, _, _ := clitest.Run("dedup", in)
		if strings.Contains(text, "undecidable 100 packets") != (c.undecidable > 0) || strings.Contains(text, "checksum    99 duplicates") != (c.bySum > 0) {
			t.Errorf("cut to %d: %s", c.cut, text)
		}
		out := filepath.Join(t.TempDir(), "out.pcapng")
		if _, errs, code := clitest.Run("dedup", "-q", in, "-w", out); code != cli.ExitDone {
			t.Fatal(errs)
		}
		if text, errs, code := clitest.Run("verify", in, out); code != cli.ExitDone {
			t.Errorf("verify: %s%s", text, errs)
		}
		seen, _ := object(t, "inspect", in)
		if seen["undecidable"] != c.inspectUndecidable || seen["checksum_only"] != c.inspectedBySum || seen["duplicates"] != 0.0 || seen["recommendation"].(map[string]any)["dedup"] != false {
			t.Errorf("cut to %d: inspect says %v", c.cut, seen)
		}
	}
}

// TestHeadersOnlyVerify finds a packet that had to stay.
func TestHeadersOnlyVerify(t *testing.T) {
	in := headersOnly(t, 62, false, 0)
	out := filepath.Join(t.TempDir(), "out.pcapng")
	clitest.WritePart(t, out, in, func(number int, _ *capture.Batch, _ int) bool { return number != 7 })
	text, _, code := clitest.Run("verify", in, out, "--json")
	if code != cli.ExitDifferent || !strings.Contains(text, `"lost":1`) {
		t.Errorf("exit code %d: %s", code, text)
	}
	// Of two points, one may have copies of the other's.
	if text, errs, code := clitest.Run("compare", "--json", in, headersOnly(t, 62, false, 0)); code != cli.ExitDone || !strings.Contains(text, `"undecidable":100`) || !strings.Contains(errs, "match in order") {
		t.Errorf("exit code %d: %s%s", code, text, errs)
	}
}

// TestHeadersOnlyDistinct counts packets without ports apart.
func TestHeadersOnlyDistinct(t *testing.T) {
	for _, c := range []struct {
		cut   int
		of    string
		apart bool
	}{{1000, "flow", false}, {58, "flow", false}, {57, "flow", true}, {57, "src", false}, {57, "src,biflow", true}} {
		text, errs, code := clitest.Run("distinct", "--json", "--of", c.of, headersOnly(t, c.cut, true, 0))
		if code != cli.ExitDone || strings.Contains(text, `"kind":"without_ports","without_ports":100}`) != c.apart || strings.Contains(errs, "truncated before their ports") != c.apart {
			t.Errorf("%s cut to %d: exit code %d: %s%s", c.of, c.cut, code, text, errs)
		}
	}
}

// TestTimesThatSayNothing warns of them, and counts.
func TestTimesThatSayNothing(t *testing.T) {
	pcap := func(name string, times ...[2]uint32) string {
		le := binary.LittleEndian
		data := le.AppendUint32(nil, 0xa1b2c3d4)
		data = append(data, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 1, 0, 0, 0)
		for i, at := range times {
			for _, word := range []uint32{at[0], at[1], 60, 60} {
				data = le.AppendUint32(data, word)
			}
			data = append(data, append(make([]byte, 59), byte(i/2))...)
		}
		name = filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	nano := pcap("nano.pcap", [2]uint32{100, 0}, [2]uint32{100, 100_000}, [2]uint32{100, 500_000_000}, [2]uint32{100, 500_100_000})
	same := pcap("same.pcap", [2]uint32{}, [2]uint32{}, [2]uint32{}, [2]uint32{})
	for _, command := range []string{"dedup", "distinct", "inspect", "compare"} {
		for in, want := range map[string]string{nano: "fractions of a second are above 999999", same: "all 4 packets have the same time"} {
			args := []string{command, in}
			if command == "compare" {
				args = append(args, pcap("other.pcap", [2]uint32{100, 0}))
			}
			if _, errs, _ := clitest.Run(args...); strings.Count(errs, "warning: "+in+": "+want) != 1 || !strings.Contains(errs, " (the manual, windows.md)\n") {
				t.Errorf("%s %s: %q", command, filepath.Base(in), errs)
			}
		}
	}
	if got, _ := object(t, "dedup", nano); got["no_timestamp"] != 2.0 || got["equal_times"] != nil || got["last_timestamp"] != "1970-01-01T00:01:40.100000000Z" {
		t.Errorf("%v", got)
	}
	if got, _ := object(t, "dedup", same); got["equal_times"] != true {
		t.Errorf("%v", got)
	}
}

// object returns the JSON of a command, and what it says besides.
func object(t *testing.T, args ...string) (got map[string]any, errs string) {
	t.Helper()
	text, errs, code := clitest.Run(append(args, "--json")...)
	if err := json.Unmarshal([]byte(text), &got); err != nil || code != cli.ExitDone {
		t.Fatalf("%v: exit code %d, %v: %s%s", args, code, err, text, errs)
	}
	return got, errs
}

// tagged writes a capture of 50 datagrams with and then without a VLAN tag, cut after some bytes.
// Every second one is short.
func tagged(t *testing.T, cut int) string {
	t.Helper()
	b := new(capture.Batch)
	n := b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet, SnapLen: uint32(cut)})
	for i := range 50 {
		size := []int{20, 200}[i%2]
		ip := append([]byte{0x45, 0, 0, byte(20 + size), 0, byte(1 + i), 0, 0, 64, 17, 0, 0}, make([]byte, 8+size)...)
		for _, link := range []string{"\x81\x00\x00\x0a\x08\x00", "\x08\x00"} {
			frame := append(append(make([]byte, 12), link...), ip...)
			b.Append(capture.Frame{Time: 1e18 + int64(i)*1000, Interface: n, WireLen: uint32(len(frame))}, frame[:min(cut, len(frame))])
		}
	}
	return clitest.WriteInput(t, filepath.Join(t.TempDir(), "tagged.pcapng"), clitest.Encoded(t, b))
}

// TestCutBehindTags says that copies remain whose truncated packets begin behind other headers.
func TestCutBehindTags(t *testing.T) {
	for _, c := range []struct {
		cut        int
		flags      []string
		duplicates float64
		warns      string
	}{
		{1000, nil, 50, ""},
		{96, nil, 25, "truncated packets have 78 to 82 bytes from their IP header on, and copies that were cut in different places would remain: use --identity-bytes if inspect recommends it"},
		{96, []string{"--identity", "frame", "--ignore", "vlan"}, 25, ""},
		{96, []string{"--identity-bytes", "78"}, 50, ""},
	} {
		got, errs := object(t, append(append([]string{"dedup"}, c.flags...), tagged(t, c.cut))...)
		if got["duplicates"] != c.duplicates {
			t.Errorf("cut to %d, %v: %v duplicates, want %v", c.cut, c.flags, got["duplicates"], c.duplicates)
		}
		if strings.Contains(errs, "warning") != (c.warns != "") || !strings.Contains(errs, c.warns) {
			t.Errorf("cut to %d, %v: %q, want %q", c.cut, c.flags, errs, c.warns)
		}
	}
}
