// SPDX-License-Identifier: Apache-2.0

package live

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
)

// wordsOf splits a command line. A tilde stands for a space within a word.
func wordsOf(line string) []string {
	words := strings.Fields(line)
	for i, word := range words {
		words[i] = strings.ReplaceAll(word, "~", " ")
	}
	return words
}

// parseKeepLive is parseLive for such a line.
func parseKeepLive(t *testing.T, line string) (*flags, *cobra.Command, error) {
	t.Helper()
	f, cmd := &flags{}, &cobra.Command{}
	f.register(cmd)
	if err := cmd.ParseFlags(append([]string{"-i", "lo"}, wordsOf(line)...)); err != nil {
		return nil, nil, err
	}
	return f, cmd, f.check(cmd)
}

// TestKeepUsageLive does the same for live, before any interface is opened.
func TestKeepUsageLive(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"--within input", "use --within interface"},
		{"--prefer=input~lo", "use interface NAME"},
		{"--only=interface~l0", "did you mean interface lo?"},
		{"--strip vlan", "-w"},
		{"--mark -w a.pcapng --forward eth9", "--forward"},
		{"--within interface --across", "--across on another only"},
		{"-i any --prefer=interface~eth7 --strip vlan --forward eth9", ""},
	} {
		_, _, err := parseKeepLive(t, c.line)
		if got := ""; err != nil {
			got = err.Error()
			if !strings.Contains(got, c.want) || c.want == "" {
				t.Errorf("%s: %s, want %q", c.line, got, c.want)
			}
		} else if c.want != "" {
			t.Errorf("%s: no error", c.line)
		}
	}
}

// TestHold checks the default of --hold.
func TestHold(t *testing.T) {
	for _, c := range []struct {
		line string
		want time.Duration
	}{
		{"", 0}, {"--window 1s", 0}, {"--keep flow", 10 * time.Millisecond}, {"-w a", 10 * time.Millisecond}, {"-w a --keep first", 0},
		{"-w a --hold 300us", 300 * time.Microsecond}, {"--keep flow --window 1ms", time.Millisecond},
		{"--keep flow --window 3ms", 3 * time.Millisecond}, {"--keep flow --window 1s", 10 * time.Millisecond},
		{"--prefer tcp --window none", 10 * time.Millisecond}, {"--prefer tcp --window n:8", 10 * time.Millisecond},
		{"--prefer tcp --window 1s --hold 300ms", 300 * time.Millisecond},
	} {
		f, cmd, err := parseKeepLive(t, c.line)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.config(cmd).Dedup.Choice.Hold; got != c.want {
			t.Errorf("%s: %v, want %v", c.line, got, c.want)
		}
	}
}

// TestKeepConfig checks what flags become.
func TestKeepConfig(t *testing.T) {
	f, cmd, err := parseKeepLive(t, "--strip vlan,mpls,tunnel --prefer=interface~lo --prefer=vlan~10 --keep flow -w a")
	if err != nil {
		t.Fatal(err)
	}
	got := f.config(cmd).Dedup.Choice
	if !got.Flow || strings.Join(got.Strip, " ") != "vlan mpls tunnel" || len(got.Prefer) != 2 ||
		got.Prefer[0].Interface != "lo" || got.Prefer[1].Filter.Expr != "vlan 10" {
		t.Errorf("%+v", got)
	}
	f, cmd, err = parseKeepLive(t, "")
	if err != nil {
		t.Fatal(err)
	}
	if got := f.config(cmd).Dedup.Choice; got.Hold != 0 || got.Flow || got.Strip != nil || got.Mark {
		t.Errorf("%+v, want %+v", got, dedup.Choice{})
	}
}

// TestKeepDefault keeps conversations from one point wherever packets are written, and the
// first of equal packets where they are counted.
func TestKeepDefault(t *testing.T) {
	for line, want := range map[string]bool{
		"": false, "--of src --reports a": false, "-w a": true, "-w -": true, "--duplicates a": true, "--forward eth9": true,
		"-w tcp-listen://:57013": true, "--mark -w a.pcapng": true, "--keep flow": true, "--keep first -w a": false,
		"--keep first --forward eth9": false, "--learn 1s -w a": true, "--learn 1s": false,
	} {
		f, cmd, err := parseKeepLive(t, line)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.config(cmd).Dedup.Choice; got.Flow != want || (got.Hold > 0) != want {
			t.Errorf("%s: %+v", line, got)
		}
	}
}

// TestIntactConfig checks where whole packets with the right checksums are preferred.
func TestIntactConfig(t *testing.T) {
	for line, want := range map[string]bool{
		"--ignore l4-checksum -w a": true, "--ignore tcp-seq --forward eth9": true, "--ignore nat --duplicates a": true, "--identity-bytes 64 -w a": true,
		"--ignore none,l4-checksum -w a": true, "--identity frame --ignore l4-checksum -w a": true, "--ignore l4-checksum --mark -w a.pcapng": true,
		"--ignore l4-checksum": false, "--ignore l4-checksum -w a --prefer first": false, "-w a": false, "--ignore ip-id -w a": false,
		"--identity inner --keep flow -w a": false,
	} {
		f, cmd, err := parseKeepLive(t, line)
		if err != nil {
			t.Fatal(line, err)
		}
		got := f.config(cmd).Dedup.Choice
		if got.Intact != want || want && got.Hold == 0 {
			t.Errorf("%s: %+v, want %v", line, got, want)
		}
	}
	for _, c := range []struct{ line, want string }{
		{"--prefer first --prefer=vlan~10", "leave out the other --prefer"},
		{"--prefer=vlan~10 --prefer first", "leave out the other --prefer"},
		{"--ignore l4-checksum --hold 1ms", "--hold needs"},
		{"--ignore l4-checksum -w a --keep first --prefer first --hold 1ms", "--hold needs"},
		{"--ignore l4-checksum -w a --hold 1ms", ""},
		{"--prefer first --keep flow --hold 1ms -w a", ""},
	} {
		_, _, err := parseKeepLive(t, c.line)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.line, err, c.want)
		}
	}
}
