// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// TestKeepUsage checks that flags which contradict each other are refused before any work.
func TestKeepUsage(t *testing.T) {
	in := clitest.Bundled("router-plain.pcapng")
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
		{"--mark", "-w"},
		{"--mark -w a.pcap.gz", "a.pcap.gz"},
		{"--mark -w a.pcapng --strip vlan", "--strip"},
		{"--mark -w a.pcapng --duplicates b", "--duplicates"},
	} {
		out, errs, code := clitest.Run(append([]string{"dedup", in}, clitest.WordsOf(c.line)...)...)
		if code != cli.ExitUsage || out != "" || !strings.Contains(errs, c.want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q, want %q", c.line, code, out, errs, c.want)
		}
	}
	if _, errs, code := clitest.Run("dedup", in, "--prefer", "input "+in[1:]); code != cli.ExitUsage || !strings.Contains(errs, "did you mean input "+in+"?") {
		t.Errorf("exit code %d, %q", code, errs)
	}
}

// TestKeepDefaultWritten writes with each default what the flag writes, byte by byte.
func TestKeepDefaultWritten(t *testing.T) {
	in := clitest.Bundled("router-ordered.pcapng")
	write := func(flags ...string) (kept, removed string) {
		dir := t.TempDir()
		kept, removed = filepath.Join(dir, "kept.pcapng"), filepath.Join(dir, "removed.pcapng")
		if _, errs, code := clitest.Run(slices.Concat([]string{"dedup", in, "-w", kept, "--duplicates", removed, "--quiet"}, flags)...); code != cli.ExitDone {
			t.Fatalf("%v: exit code %d: %s", flags, code, errs)
		}
		var text [2]string
		for i, name := range []string{kept, removed} {
			content := clitest.ReadFile(t, name)
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
			if out, _, code := clitest.Run("__complete", command, flag, ""); code != cli.ExitDone || !strings.HasPrefix(out, want) {
				t.Errorf("%s %s: %q", command, flag, out)
			}
		}
	}
}

// TestForwardCompletion offers interfaces to send to: "any" is none of them.
func TestForwardCompletion(t *testing.T) {
	for flag, want := range map[string]bool{"--forward": false, "--interface": true} {
		out, _, code := clitest.Run("__complete", "live", flag, "")
		names := strings.Split(out, "\n")
		if code != cli.ExitDone || slices.Contains(names, "any") != want {
			t.Errorf("live %s: %q", flag, out)
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
		if out, _, code := clitest.Run("__complete", c.command, c.flag, c.begun); code != cli.ExitDone || out != c.want {
			t.Errorf("%s %s %s: %q", c.command, c.flag, c.begun, out)
		}
	}
}

// TestHoldTooLong checks the warning about a part of --hold that is of no use.
func TestHoldTooLong(t *testing.T) {
	_, errs, code := clitest.Run("dedup", clitest.Bundled("router-plain.pcapng"), "--keep", "flow", "--window", "1ms", "--hold", "2ms")
	if code != cli.ExitDone || !strings.Contains(errs, "--hold 2ms is longer than --window 1ms") {
		t.Errorf("exit code %d, %q", code, errs)
	}
}

// TestProfileRefused checks that flags which would make a reader blind are wrong usage, and
// that the error names the flag and the reader.
func TestProfileRefused(t *testing.T) {
	in := clitest.Bundled("router-plain.pcapng")
	for _, c := range []struct{ line, want string }{
		{"--for snort -w a", "must be one of suricata, zeek, arkime, wireshark, none"},
		{"--for zek -w a", "did you mean zeek?"},
		{"--for suricata --keep first --strip mpls -w a", "--for suricata: --keep first"},
		{"--for suricata --mark -w a.pcapng", "--for suricata: --mark"},
		{"--for zeek --mark -w a.pcapng", "--for zeek: --mark"},
		{"--for arkime --mark -w a.pcapng", "--for arkime: --mark"},
		{"--for arkime --window none -w a", "--for arkime: --window none"},
		{"--for zeek --refresh -w a", "--for zeek: --refresh"},
		{"--for zeek --ignore l4-checksum --prefer first -w a", "--for zeek: --prefer first"},
	} {
		out, errs, code := clitest.Run(append([]string{"dedup", in}, clitest.WordsOf(c.line)...)...)
		if code != cli.ExitUsage || out != "" || !strings.Contains(errs, c.want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q, want %q", c.line, code, out, errs, c.want)
		}
	}
}
