// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// redundantStream is the traffic of a bundled capture on a network with two paths, and what
// each path lost.
type redundantStream struct {
	stream []clitest.Seen
	only   [2][]clitest.Record // packets that came on this path only
	both   int
}

// onLAN puts PRP's trailer behind a frame, as a station does that pads before (IEC 62439-3).
func onLAN(frame []byte, second, sequence int) []byte {
	frame = append(slices.Clone(frame), make([]byte, max(60-len(frame), 0))...)
	size := len(frame) - 14 + 6
	return append(frame, byte(sequence>>8), byte(sequence), byte(0xa0+second<<4+size>>8), byte(size), 0x88, 0xfb)
}

// onRing puts HSR's tag into a frame.
func onRing(frame []byte, second, sequence int) []byte {
	size := len(frame) - 14 + 6
	return slices.Insert(slices.Clone(frame), 12, 0x89, 0x2f, byte(second<<4+size>>8), byte(size), byte(sequence>>8), byte(sequence))
}

// redundant sends what came to an interface of a router on two paths. The first path loses each
// 50th frame, the second each 11th. Frames come on the second path 30 µs later, at the interface
// that where returns.
func redundant(t *testing.T, send func(frame []byte, second, sequence int) []byte, where func(second int) int) (r redundantStream) {
	t.Helper()
	number := 0
	for _, p := range clitest.ReadStream(t, clitest.Bundled("router-plain.pcapng")) {
		if p.Iface != 0 {
			continue
		}
		lost := [2]bool{number%50 == 7, number%11 == 3}
		for second := range 2 {
			frame := string(send([]byte(p.Data), second, number))
			one := clitest.Seen{Record: clitest.Record{Time: p.Time + int64(second)*30_000, Wire: uint32(len(frame)), Data: frame}, Iface: where(second)}
			if !lost[second] {
				r.stream = append(r.stream, one)
			}
			if lost[1-second] && !lost[second] {
				r.only[second] = append(r.only[second], one.Record)
			}
		}
		if lost == [2]bool{} {
			r.both++
		}
		number++
	}
	slices.SortStableFunc(r.stream, func(a, b clitest.Seen) int { return int(a.Time - b.Time) })
	return r
}

func oneInterface(int) int { return 0 }

// pathsOf returns what inspect says of paths.
func pathsOf(t *testing.T, name string) (paths []map[string]any) {
	t.Helper()
	out, errs, code := clitest.Run("inspect", "--json", name)
	var s struct{ Paths []map[string]any }
	if err := json.Unmarshal([]byte(out), &s); err != nil || code != cli.ExitDone {
		t.Fatal(err, code, errs)
	}
	return s.Paths
}

// TestLANsLikeTshark checks that the frames of these tests are what tshark takes for PRP
// and HSR.
func TestLANsLikeTshark(t *testing.T) {
	tshark := clitest.NeedTshark(t)
	for field, r := range map[string]redundantStream{
		"prp.trailer.prp_lan": redundant(t, onLAN, oneInterface), "hsr.laneid": redundant(t, onRing, oneInterface),
	} {
		out, err := exec.Command(tshark, "-n", "-r", clitest.WriteStream(t, r.stream, 1), "-o", "prp.enable:TRUE", "-T", "fields", "-e", field).Output()
		if err != nil {
			t.Fatal(err)
		}
		got, want := map[string]int{}, map[string]int{}
		for value := range strings.SplitSeq(strings.TrimSuffix(string(out), "\n"), "\n") {
			got[value]++
		}
		first, second := "10", "11"
		if field == "hsr.laneid" {
			first, second = "0", "1"
		}
		want[first], want[second] = r.both+len(r.only[0]), r.both+len(r.only[1])
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", field, got, want)
		}
	}
}

// TestInspectLANs shows the loss of each path, and names the points after them.
func TestInspectLANs(t *testing.T) {
	r := redundant(t, onLAN, oneInterface)
	name := clitest.WriteStream(t, r.stream, 1)
	a, b := len(r.only[0]), len(r.only[1])
	want := []map[string]any{
		{"path": "LAN A", "frames": float64(r.both + a), "missed": float64(b)}, {"path": "LAN B", "frames": float64(r.both + b), "missed": float64(a)},
	}
	if got := pathsOf(t, name); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	s := clitest.RunInspect(t, cli.ExitDone, name)
	if m := s.Matrix[0]; m.First != "point0 LAN A" || m.Copy != "point0 LAN B" || m.Count != uint64(r.both) || s.Kinds["lan"] != uint64(r.both) {
		t.Errorf("matrix %+v, kinds %v", s.Matrix, s.Kinds)
	}
	text, _, _ := clitest.Run("inspect", name)
	for _, part := range []string{"another LAN; mostly point0 LAN A -> point0 LAN B.", fmt.Sprintf("LAN A     %d       %d", r.both+a, b)} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in %s", part, text)
		}
	}
	page := filepath.Join(t.TempDir(), "page.html")
	if _, errs, code := clitest.Run("inspect", "-q", "--html", page, name); code != cli.ExitDone {
		t.Fatal(errs)
	}
	if html, err := os.ReadFile(page); err != nil || !strings.Contains(string(html), "What each path missed") {
		t.Error("the page has no paths", err)
	}
	// All frames are to one station, so none has to come on both ways round a ring.
	if got := pathsOf(t, clitest.WriteStream(t, redundant(t, unicastOnRing, oneInterface).stream, 1)); len(got) != 0 {
		t.Errorf("paths of unicast: %v", got)
	}
	if got := pathsOf(t, clitest.Bundled("router-plain.pcapng")); len(got) != 0 {
		t.Errorf("paths without a network: %v", got)
	}
}

func unicastOnRing(frame []byte, second, sequence int) []byte {
	frame = onRing(frame, second, sequence)
	frame[0] = 2
	return frame
}

// TestAcrossLANs removes the copies of the other path and no others, which verify agrees
// with.
func TestAcrossLANs(t *testing.T) {
	for what, send := range map[string]func(frame []byte, second, sequence int) []byte{"PRP": onLAN, "HSR": onRing} {
		r := redundant(t, send, oneInterface)
		name := clitest.WriteStream(t, r.stream, 1)
		dir := t.TempDir()
		for flags, copies := range map[string]int{"--across --window 1ms": r.both, "--within lan --window 1ms": 0, "--window 1ms": r.both} {
			if s := clitest.Cleaned(t, filepath.Join(dir, "out.pcapng"), filepath.Join(dir, "dup.pcapng"), []string{name}, strings.Fields(flags)); s.Duplicates != uint64(copies) {
				t.Errorf("%s, %s: %d copies, want %d", what, flags, s.Duplicates, copies)
			}
		}
		// Each packet has its copy on the other path, so the rest of both must go.
		out := filepath.Join(dir, "one.pcapng")
		if _, _, code := clitest.Run("dedup", "-q", name, "-w", out); code != cli.ExitDone {
			t.Fatal(code)
		}
		if text, _, code := clitest.Run("verify", name, out, "--within", "lan"); code != cli.ExitDifferent {
			t.Errorf("%s: verify --within lan takes copies of the other path: %d, %s", what, code, text)
		}
	}
}

// TestCompareLANs compares both paths of a capture, and of two captures.
func TestCompareLANs(t *testing.T) {
	for what, send := range map[string]func(frame []byte, second, sequence int) []byte{"PRP": onLAN, "HSR": onRing} {
		r := redundant(t, send, oneInterface)
		name := clitest.WriteStream(t, append(r.stream, clitest.ReadStream(t, clitest.Bundled("router-plain.pcapng"))[:5]...), 2)
		onlyA, onlyB := filepath.Join(t.TempDir(), "a.pcapng"), filepath.Join(t.TempDir(), "b.pcapng")
		for _, args := range [][]string{{name}, {name, name}, {name, "--workers", "1"}} {
			args = append([]string{"--lans", "--only-a", onlyA, "--only-b", onlyB}, args...)
			c, errs := clitest.RunCompare(t, cli.ExitDifferent, args...)
			if c.Both != uint64(r.both) || c.OnlyA != uint64(len(r.only[0])) || c.OnlyB != uint64(len(r.only[1])) || c.Filtered != 0 || c.Unpathed != 5 || errs != "" {
				t.Errorf("%s: %+v, want %d, %d and %d, %s", what, c, r.both, len(r.only[0]), len(r.only[1]), errs)
			}
			if c.A.LAN != "A" || c.B.LAN != "B" || c.DelayNS.Max > 2000 {
				t.Errorf("%s: %+v", what, c)
			}
			clitest.CompareRecords(t, what+" only in A", clitest.ReadAll(t, onlyA), r.only[0])
			clitest.CompareRecords(t, what+" only in B", clitest.ReadAll(t, onlyB), r.only[1])
		}
		text, _, _ := clitest.Run("compare", "--lans", name)
		if want := name + ", LAN A: "; !strings.Contains(text, want) || !strings.Contains(text, "no LAN      5 packets") {
			t.Errorf("no %q in %s", want, text)
		}
	}
	// Two captures, of which each has all of both LANs.
	r := redundant(t, onLAN, func(second int) int { return second })
	a, b := clitest.WriteStream(t, r.stream, 2), clitest.WriteStream(t, r.stream, 2)
	isIP := func(p clitest.Record) bool { return p.Data[12:14] == "\x08\x00" }
	ip := 0
	for _, p := range r.stream {
		if isIP(p.Record) {
			ip++
		}
	}
	c, _ := clitest.RunCompare(t, cli.ExitDifferent, "--lans", "--filter", "ip", a, b)
	if want := ip - len(slices.DeleteFunc(slices.Concat(r.only[0], r.only[1]), func(p clitest.Record) bool { return !isIP(p) })); c.Both != uint64(want/2) {
		t.Errorf("two files: %d in both, want %d", c.Both, want/2)
	}
	if c.Filtered != 2*uint64(len(r.stream)-ip) || c.Unpathed != uint64(ip) || c.A.Packets+c.B.Packets != uint64(ip) {
		t.Errorf("two files: %+v, %d packets of IPv4", c, ip)
	}
}
