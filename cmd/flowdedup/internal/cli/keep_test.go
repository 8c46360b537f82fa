package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
)

// TestKeepUsage checks that flags which contradict each other are refused before any work.
func TestKeepUsage(t *testing.T) {
	in := bundled("router-plain.pcapng")
	for _, c := range []struct{ line, want string }{
		{"--keep last", "must be one of flow, first"},
		{"--keep flwo", "did you mean flow?"},
		{"--within vlna", "did you mean vlan?"},
		{"--within vlan,", "must be one of"},
		{"--within vlan,vlan", "twice"},
		{"--within interface --across", "--across on another only"},
		{"--within vni", "--identity inner"},
		{"--within input", "several captures"},
		{"--only=", "is empty"},
		{"--only interface", "needs a name"},
		{"--protect=input", "needs a name"},
		{"--prefer=input~x", "no such input"},
		{"--hold 1ms", "--hold needs"},
		{"--hold 1ms --keep first", "--hold needs"},
		{"--hold 1ms --keep first -w a", "--hold needs"},
		{"--keep flow --hold 0", "no time"},
		{"--keep flow --hold -1s", "negative"},
		{"--keep flow --hold soon", "duration"},
		{"--strip mpsl -w a", "did you mean mpls?"},
		{"--strip vlan", "-w"},
		{"--decap", "-w"},
		{"--mark", "-w"},
		{"--mark -w a.pcap.gz", "a.pcap.gz"},
		{"--mark -w a.pcapng --strip vlan", "--strip"},
		{"--mark -w a.pcapng --decap", "--decap"},
		{"--mark -w a.pcapng --duplicates b", "--duplicates"},
	} {
		out, errs, code := run(append([]string{"dedup", in}, wordsOf(c.line)...)...)
		if code != ExitUsage || out != "" || !strings.Contains(errs, c.want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q, want %q", c.line, code, out, errs, c.want)
		}
	}
	if _, errs, code := run("dedup", in, "--prefer", "input "+in[1:]); code != ExitUsage || !strings.Contains(errs, "did you mean input "+in+"?") {
		t.Errorf("exit code %d, %q", code, errs)
	}
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

// wordsOf splits a command line. A tilde stands for a space within a word.
func wordsOf(line string) []string {
	words := strings.Fields(line)
	for i, word := range words {
		words[i] = strings.ReplaceAll(word, "~", " ")
	}
	return words
}

// parseKeepLive is parseLive for such a line.
func parseKeepLive(t *testing.T, line string) (*liveFlags, *cobra.Command, error) {
	t.Helper()
	f, cmd := &liveFlags{}, &cobra.Command{}
	f.register(cmd)
	if err := cmd.ParseFlags(append([]string{"-i", "lo"}, wordsOf(line)...)); err != nil {
		return nil, nil, err
	}
	return f, cmd, f.check(cmd)
}

// TestHold checks the default of --hold, and the warning about a part of no use.
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
	_, errs, code := run("dedup", bundled("router-plain.pcapng"), "--keep", "flow", "--window", "1ms", "--hold", "2ms")
	if code != ExitDone || !strings.Contains(errs, "--hold 2ms is longer than --window 1ms") {
		t.Errorf("exit code %d, %q", code, errs)
	}
}

// TestKeepConfig checks what flags become.
func TestKeepConfig(t *testing.T) {
	f, cmd, err := parseKeepLive(t, "--strip vlan,mpls --decap --prefer=interface~lo --prefer=vlan~10 --keep flow -w a")
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

// TestKeepDefaultWritten writes with each default what the flag writes, byte by byte.
func TestKeepDefaultWritten(t *testing.T) {
	in := bundled("router-ordered.pcapng")
	write := func(flags ...string) (kept, removed string) {
		dir := t.TempDir()
		kept, removed = filepath.Join(dir, "kept.pcapng"), filepath.Join(dir, "removed.pcapng")
		if _, errs, code := run(slices.Concat([]string{"dedup", in, "-w", kept, "--duplicates", removed, "--quiet"}, flags)...); code != ExitDone {
			t.Fatalf("%v: exit code %d: %s", flags, code, errs)
		}
		var text [2]string
		for i, name := range []string{kept, removed} {
			content, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			text[i] = string(content)
		}
		return text[0], text[1]
	}
	kept, removed := write()
	flow, flowRemoved := write("--keep", "flow")
	first, firstRemoved := write("--keep", "first")
	if kept != flow || removed != flowRemoved {
		t.Error("the default writes other packets than --keep flow")
	}
	if kept == first || removed == firstRemoved {
		t.Error("--keep first writes what --keep flow does")
	}
}

// TestKeepCompletion completes the words of these flags.
func TestKeepCompletion(t *testing.T) {
	for flag, want := range map[string]string{
		"--keep": "flow\nfirst\n", "--within": "vlan\nvni\ninterface\ninput\n", "--strip": "vlan\nmpls\npppoe\ntunnel\n",
		"--only": "interface\ninput\narp\n", "--protect": "interface\ninput\narp\n", "--prefer": "first\ninterface\ninput\narp\n",
	} {
		for _, command := range []string{"dedup", "live"} {
			if out, _, code := run("__complete", command, flag, ""); code != ExitDone || !strings.HasPrefix(out, want) {
				t.Errorf("%s %s: %q", command, flag, out)
			}
		}
	}
}

// TestListCompletion completes lists word by word, and names none twice.
func TestListCompletion(t *testing.T) {
	for _, c := range []struct{ command, flag, begun, want string }{
		{"dedup", "--strip", "", "vlan\nmpls\npppoe\ntunnel\narista\n:4\n"},
		{"dedup", "--strip", "vlan,", "vlan,mpls\nvlan,pppoe\nvlan,tunnel\nvlan,arista\n:4\n"},
		{"live", "--strip", "pppoe,vlan,t", "pppoe,vlan,mpls\npppoe,vlan,tunnel\npppoe,vlan,arista\n:4\n"},
		{"distinct", "--of", "src,dst,ip,pair,", "src,dst,ip,pair,flow\nsrc,dst,ip,pair,biflow\nsrc,dst,ip,pair,mac\n:4\n"},
	} {
		if out, _, code := run("__complete", c.command, c.flag, c.begun); code != ExitDone || out != c.want {
			t.Errorf("%s %s %s: %q", c.command, c.flag, c.begun, out)
		}
	}
}
