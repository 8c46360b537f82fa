// SPDX-License-Identifier: Apache-2.0

package verify_test

import (
	"encoding/json"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// TestVerify checks what dedup writes of each bundled capture, for what a user may choose.
func TestVerify(t *testing.T) {
	captures, err := filepath.Glob("../../../../testdata/pcaps/*.pcap*")
	if err != nil || len(captures) == 0 {
		t.Fatal(captures, err)
	}
	for _, c := range []struct{ dedup, verify string }{
		{"", ""},
		{"--keep flow", ""},
		{"--window 100ms --identity inner --within vlan", ""},
		{"--window n:100 --across", ""},
		{"--window none --method exact --ignore ip-id", ""},
		{"--window 10ms --refresh --filter udp", ""},
		{"--window 20ms --method coarse", "--tolerance 200us"},
		{"--window landmark:100ms --method exact", ""},
		{"--window landmark:n:64 --across", ""},
		{"--window landmark:1d --tz Asia/Kathmandu --keep flow", ""},
	} {
		for _, in := range clitest.Sample(4, captures) {
			dir := t.TempDir()
			extension := strings.TrimSuffix(filepath.Ext(strings.TrimSuffix(in, ".gz")), ".gz")
			out, dup := filepath.Join(dir, "out"+extension), filepath.Join(dir, "dup"+extension)
			flags := strings.Fields(c.dedup)
			if _, errs, code := clitest.Run(append([]string{"dedup", "-q", in, "-w", out, "--duplicates", dup}, flags...)...); code != cli.ExitDone {
				t.Fatalf("dedup %s %s: %s", c.dedup, in, errs)
			}
			flags = append(withoutKeep(flags), strings.Fields(c.verify)...)
			if text, errs, code := clitest.Run(append([]string{"verify", in, out, dup}, flags...)...); code != cli.ExitDone {
				t.Errorf("verify %v %s: exit code %d: %s%s", flags, in, code, text, errs)
			}
		}
	}
}

// TestVerifyProtected verifies outputs of --protect, for random streams, and equal packets of which
// the second is protected: it begins no window, so the third stays.
func TestVerifyProtected(t *testing.T) {
	rng := rand.New(rand.NewPCG(60, 3))
	three := clitest.RandomStream(rng, 1, 1, time.Microsecond)
	for i := range 2 {
		three = append(three, three[0])
		three[i+1].Time += int64(i+1) * 900_000
	}
	three[1].Iface = 1
	for _, c := range []struct {
		flags  string
		stream []clitest.Seen
		copies int // -1: any number
	}{
		{"--window 1ms", three, 0},
		{"--window 1ms --refresh", three, 1},
		{"--window 2ms", three, 1},
		{"--window 300us", clitest.RandomStream(rng, 400, 2, 100*time.Microsecond), -1},
		{"--window n:5", clitest.RandomStream(rng, 400, 2, 2*time.Microsecond), -1},
		{"--window n:9 --across", clitest.RandomStream(rng, 400, 2, 2*time.Microsecond), -1},
		{"--window 90us --across", clitest.RandomStream(rng, 400, 2, 2*time.Microsecond), -1},
	} {
		in, out := clitest.WriteStream(t, c.stream, 2), filepath.Join(t.TempDir(), "out.pcapng")
		args := append(strings.Fields(c.flags), "--prefer", "first")
		text, errs, code := clitest.Run(append([]string{"dedup", "--json", in, "-w", out, "--keep", "first", "--protect", "interface point1"}, args...)...)
		var s struct{ Duplicates, Protected int }
		if err := json.Unmarshal([]byte(text), &s); err != nil || code != cli.ExitDone || s.Protected == 0 || c.copies >= 0 && s.Duplicates != c.copies {
			t.Errorf("dedup %s: %+v, %v, %s", c.flags, s, err, errs)
		}
		if text, errs, code := clitest.Run(append([]string{"verify", in, out}, args...)...); code != cli.ExitDone {
			t.Errorf("verify %s: exit code %d: %s%s", c.flags, code, text, errs)
		}
	}
}

// withoutKeep returns the flags that verify has, too.
func withoutKeep(flags []string) (out []string) {
	for i := 0; i < len(flags); i++ {
		switch flags[i] {
		case "--keep", "--method":
			i++
		default:
			out = append(out, flags[i])
		}
	}
	return out
}

// TestVerifyChangedOutput verifies outputs that lack headers: right with the flags of the run, and
// unknown without.
func TestVerifyChangedOutput(t *testing.T) {
	for _, c := range []struct{ in, run, fits string }{
		{"router-vlan.pcapng", "--strip vlan", "--strip vlan"},
		{"router-vlan.pcapng", "--for suricata", "--strip vlan"},
		{"router-vlan.pcapng", "--for zeek", ""},
		{"mirror-vxlan.pcap", "--identity inner --strip tunnel", "--strip tunnel and --identity inner"},
		{"mirror-vxlan.pcap", "--identity inner", "--identity inner"},
		{"mirror-vxlan.pcap", "--identity inner --slice 60 --strip tunnel", ""},
		{"router-ordered.pcapng", "--identity inner --window 1s", ""},
	} {
		in, dir := clitest.Bundled(c.in), t.TempDir()
		out, dup := filepath.Join(dir, "out.pcapng"), filepath.Join(dir, "dup.pcapng")
		flags := strings.Fields(c.run)
		if _, errs, code := clitest.Run(append([]string{"dedup", "-q", in, "-w", out, "--duplicates", dup}, flags...)...); code != cli.ExitDone {
			t.Fatal(errs)
		}
		if text, errs, code := clitest.Run(append([]string{"verify", in, out, dup}, flags...)...); code != cli.ExitDone || errs != "" {
			t.Errorf("%s %s: exit code %d, %s%s", c.in, c.run, code, text, errs)
		}
		if c.fits == "" {
			continue
		}
		text, errs, code := clitest.Run("verify", "--json", in, out)
		var s struct {
			Same                   bool
			Fits                   string
			Lost, Foreign, Unknown uint64
		}
		if err := json.Unmarshal([]byte(text), &s); err != nil || code != cli.ExitDamaged || errs != "" || s.Same || s.Fits != c.fits || s.Lost+s.Foreign != 0 || s.Unknown == 0 {
			t.Errorf("%s %s: exit code %d, %s%s", c.in, c.run, code, text, errs)
		}
	}
}
