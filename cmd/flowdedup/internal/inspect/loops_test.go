// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// written writes a capture of frames, each apart nanoseconds after the one before.
func written(t *testing.T, apart int64, frames ...[]byte) string {
	t.Helper()
	var b capture.Batch
	at := b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet})
	for n, frame := range frames {
		b.Append(capture.Frame{Interface: at, Time: 1_700_000_000_000_000_000 + int64(n)*apart}, frame)
	}
	return clitest.WriteInput(t, filepath.Join(t.TempDir(), "frames.pcapng"), clitest.Encoded(t, &b))
}

// datagram is UDP packet n between two hosts.
func datagram(n, ttl int) []byte {
	frame := []byte("\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02\x08\x00\x45\x00\x00\x30\x00\x00\x00\x00\x40\x11\x00\x00\xc0\x00\x02\x01\xc6\x33\x64\x02\x03\xe8\x07\xd0\x00\x1c\x00\x00 contents of 20 bytes")
	frame = frame[:14+48]
	binary.BigEndian.PutUint16(frame[18:], uint16(n))
	binary.BigEndian.PutUint32(frame[44:], uint32(n))
	frame[22] = byte(ttl)
	return summed(frame)
}

// summed fills the checksum of IPv4 in.
func summed(frame []byte) []byte {
	sum := 0
	binary.BigEndian.PutUint16(frame[24:], 0)
	for o := 14; o < 34; o += 2 {
		sum += int(binary.BigEndian.Uint16(frame[o:]))
	}
	binary.BigEndian.PutUint16(frame[24:], uint16(sum%0xffff^0xffff))
	return frame
}

// TestInspectLoops says in each form of the answer that a network repeats packets, which stations
// do, and does not recommend to remove them.
func TestInspectLoops(t *testing.T) {
	arp := append([]byte("\xff\xff\xff\xff\xff\xff\x02\x00\x00\x00\x00\x02\x08\x06\x00\x01\x08\x00\x06\x04\x00\x01\x02\x00\x00\x00\x00\x02\x0a\x00\x00\x05\x00\x00\x00\x00\x00\x00\x0a\x00\x00\x06"), make([]byte, 18)...)
	var routed [][]byte
	for pass := range 60 {
		frame := datagram(7, 64-pass)
		frame[5], frame[11] = byte(1+pass%2), byte(2-pass%2)
		routed = append(routed, frame)
	}
	for _, c := range []struct {
		frames      [][]byte
		apart       int64
		kind, words string
		stations    []string
		hosts       []string
	}{
		{slices.Repeat([][]byte{arp}, 3000), 40_000, "bridging", "A loop or a storm: one frame 3,000 times", []string{"02:00:00:00:00:02", "ff:ff:ff:ff:ff:ff"}, []string{"10.0.0.5", "10.0.0.6"}},
		{routed, 500_000, "routing", "A routing loop: one packet 60 times", []string{"02:00:00:00:00:01", "02:00:00:00:00:02"}, []string{"192.0.2.1", "198.51.100.2"}},
	} {
		name := written(t, c.apart, c.frames...)
		r := clitest.RunInspect(t, cli.ExitDone, name)
		passes := uint64(len(c.frames))
		if r.Conclusion != "loop" || r.Copies != 0 || r.Looped != passes-1 || r.Recommendation.Dedup || r.Recommendation.Command != "" || len(r.Loops) != 1 {
			t.Fatalf("%+v", r)
		}
		if l := &r.Loops[0]; l.Kind != c.kind || l.Sightings != passes || l.Most != passes || !slices.Equal(l.Stations, c.stations) || !slices.Equal(l.Hosts, c.hosts) {
			t.Errorf("%+v", l)
		}
		html := filepath.Join(t.TempDir(), "loops.html")
		text, errs, code := clitest.Run("inspect", "--html", html, name)
		page := string(clitest.ReadFile(t, html))
		for _, want := range append(slices.Concat(c.stations, c.hosts), c.words) {
			if code != cli.ExitDone || !strings.Contains(text, want) || !strings.Contains(page, want) {
				t.Errorf("exit code %d, %s: no %q in\n%s\nor in the page", code, errs, want, text)
			}
		}
		clitest.WellFormed(t, page)
		if strings.Contains(text, "all of them copies") || strings.Contains(text, "flowdedup dedup") || !strings.Contains(text, "find the loop") {
			t.Error(text)
		}
	}
}

// TestInspectCannotTell says that nobody can tell where copies of most packets would not be found.
func TestInspectCannotTell(t *testing.T) {
	none, broken, mixed := [][]byte{}, [][]byte{}, [][]byte{}
	for n := range 100 {
		whole := datagram(n+1, 64)
		bad := slices.Clone(whole)
		bad[14] = 0x95
		bad[50] = byte(n)
		none, broken = append(none, whole), append(broken, bad)
		mixed = append(mixed, whole, bad)
	}
	for _, c := range []struct {
		name       string
		frames     [][]byte
		conclusion string
		words      []string
	}{
		{"sound", none, "no-copies", []string{"No copies within 1s: do not", "Recommended: do not de-duplicate"}},
		{"no headers of IP", broken, "cannot-tell", []string{"Cannot tell whether there are copies: 100.0 % of the packets were not opened (ethertype-0800 100.0 %)", "Recommended: nothing"}},
		{"half", mixed, "no-copies", []string{"among the packets that were opened (100 were not: ethertype-0800 50.0 %)"}},
		{"most", append(mixed, broken[0]), "cannot-tell", []string{"Cannot tell", "ethertype-0800 50."}},
	} {
		name := written(t, 1_000_000, c.frames...)
		html := filepath.Join(t.TempDir(), "answer.html")
		text, _, _ := clitest.Run("inspect", "--html", html, name)
		page, err := os.ReadFile(html)
		if err != nil {
			t.Fatal(err)
		}
		if r := clitest.RunInspect(t, cli.ExitDone, name); string(r.Conclusion) != c.conclusion || r.Recommendation.Dedup {
			t.Errorf("%s: %+v", c.name, r)
		}
		for _, want := range c.words {
			if !strings.Contains(text, want) || strings.HasPrefix(want, "Cannot") && !strings.Contains(string(page), want) {
				t.Errorf("%s: no %q in %s", c.name, want, text)
			}
		}
		if c.conclusion != "no-copies" && (strings.Contains(text, "o copies within") || strings.Contains(text, "do not de-duplicate")) {
			t.Errorf("%s: %s", c.name, text)
		}
	}
}

// TestInspectTried says what was tried: a second line, which one of the trials finds, and whose
// command removes as many packets as it says.
func TestInspectTried(t *testing.T) {
	var frames [][]byte
	for n := range 100 {
		line := datagram(n+1, 64)
		other := datagram(3*n+900, 64)
		copy(other[42:], line[42:])
		other[29], other[33], other[37] = 9, 8, 7
		frames = append(frames, line, summed(other))
	}
	name := written(t, 50_000, frames...)
	r := clitest.RunInspect(t, cli.ExitDone, name)
	if r.Copies != 100 || !slices.Equal(r.Recommendation.Ignore, []string{"nat", "ip-id"}) || len(r.Tried) != 4 || r.Tried[2].Equal != 0 || r.Tried[3].Copies != 100 {
		t.Errorf("%+v", r)
	}
	checkCommand(t, &r)
	text, _, _ := clitest.Run("inspect", name)
	for _, want := range []string{"sent on by a relay or on a second line", "--ignore nat,ip-id: 100 more equal, 100 copies; l4-checksum, mss, nat: none", "removes     100 packets, all of them copies"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
}
