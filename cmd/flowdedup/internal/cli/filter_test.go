// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// TestFilterLikeTcpdump compares the output of a filtered run with that for a capture
// that tcpdump filtered, for several numbers of workers.
func TestFilterLikeTcpdump(t *testing.T) {
	path := clitest.NeedTcpdump(t)
	for _, c := range []struct{ in, expr string }{
		{"router-in.pcap", "tcp and not port 22"},
		{"router-out.pcap", "ip6"},
		{"loopback-twice.pcap", "udp or icmp"},
		{"router-any-sll2.pcap", "greater 200"},
		{"tunnel-raw.pcap", "ip proto 17"},
	} {
		dir := t.TempDir()
		theirs, want := filepath.Join(dir, "theirs.pcap"), filepath.Join(dir, "want.pcap")
		// Times of pcap files with nanoseconds are kept as they are.
		if out, err := exec.Command(path, "-r", clitest.Bundled(c.in), "--time-stamp-precision=nano", "-w", theirs, "--", c.expr).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		all := clitest.RunDedup(t, cli.ExitDone, clitest.Bundled(c.in))
		ref := clitest.RunDedup(t, cli.ExitDone, theirs, "-w", want)
		for _, workers := range []string{"1", "3"} {
			got := filepath.Join(dir, "got.pcap")
			r := clitest.RunDedup(t, cli.ExitDone, clitest.Bundled(c.in), "--filter", c.expr, "--workers", workers, "-w", got)
			if r.PacketsIn != ref.PacketsIn || r.Duplicates != ref.Duplicates || r.BytesIn != ref.BytesIn ||
				r.Filtered != all.PacketsIn-ref.PacketsIn || r.PacketsIn == 0 || r.Filtered == 0 {
				t.Errorf("%s %q: %+v, want %+v of %d", c.in, c.expr, r, ref, all.PacketsIn)
			}
			if packetsOf(t, path, got) != packetsOf(t, path, want) {
				t.Errorf("%s %q: other packets than from tcpdump's file", c.in, c.expr)
			}
		}
	}
}

// packetsOf returns the packets of a file as tcpdump shows them.
func packetsOf(t *testing.T, path, name string) string {
	t.Helper()
	out, err := exec.Command(path, "-r", name, "-ttnxx", "--time-stamp-precision=nano").Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestFilterErrors checks that errors are one line that names the flag, without an output
// file.
func TestFilterErrors(t *testing.T) {
	clitest.NeedTcpdump(t)
	in, dir := clitest.Bundled("router-plain.pcapng"), t.TempDir()
	broken := filepath.Join(dir, "broken")
	if err := os.WriteFile(broken, []byte("2\n40 0 0 12\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out")
	for _, c := range []struct {
		args []string
		want string
		code int
	}{
		{[]string{"dedup", in, "-w", out, "--filter", "tcp prot 80"}, "--filter: ", cli.ExitUsage},
		{[]string{"dedup", in, "-w", out, "--duplicates", out + "2", "--filter", "wlan type mgt"}, "802.11", cli.ExitUsage},
		{[]string{"dedup", in, "--json", "--filter", "ip and arp"}, "rejects all packets", cli.ExitUsage},
		{[]string{"distinct", in, "--csv", out, "--filter", "port"}, "--filter: ", cli.ExitUsage},
		{[]string{"plan", "--from", in, "--filter", "(ip"}, "--filter: ", cli.ExitUsage},
		{[]string{"plan", "--filter", "ip"}, "--from", cli.ExitUsage},
		{[]string{"dedup", in, "--filter", "ip", "--bpf-file", broken}, "exclude each other", cli.ExitUsage},
		{[]string{"dedup", in, "-w", out, "--bpf-file", broken}, "--bpf-file " + broken + ": not a BPF program", cli.ExitUsage},
		{[]string{"distinct", in, "--bpf-file", "no-such-file"}, "no-such-file", cli.ExitFailed},
		{[]string{"dedup", in, "--bpf-file", dir}, dir, cli.ExitFailed},
	} {
		stdout, errs, code := clitest.Run(c.args...)
		if code != c.code || stdout != "" || !strings.Contains(errs, c.want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%q: exit code %d, stdout %q, stderr %q, want %q", c.args, code, stdout, errs, c.want)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// nothing is a program that accepts no packet.
func nothing(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "nothing")
	if err := os.WriteFile(name, []byte("1\n6 0 0 0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestFilterNothing accepts a readable input without wanted packets, even if it is
// damaged.
func TestFilterNothing(t *testing.T) {
	program := nothing(t)
	whole := clitest.ReadFile(t, clitest.Bundled("router-in.pcap"))
	cut := filepath.Join(t.TempDir(), "cut.pcap")
	if err := os.WriteFile(cut, whole[:len(whole)-5], 0o600); err != nil {
		t.Fatal(err)
	}
	for in, code := range map[string]int{clitest.Bundled("router-in.pcap"): cli.ExitDone, cut: cli.ExitDamaged} {
		out := filepath.Join(t.TempDir(), "out.pcap")
		r := clitest.RunDedup(t, code, in, "--bpf-file", program, "-w", out)
		if r.PacketsIn != 0 || r.Filtered == 0 {
			t.Errorf("%s: %+v", in, r)
		}
		if header, err := os.ReadFile(out); err != nil || len(header) != 24 {
			t.Errorf("%s: %d bytes written, %v", in, len(header), err)
		}
		text, _, got := clitest.Run("distinct", in, "--bpf-file", program)
		if got != code || !strings.HasPrefix(text, "no packets\n") || !strings.HasSuffix(text, " packets filtered out\n") {
			t.Errorf("%s: exit code %d, %q", in, got, text)
		}
		if text, _, _ := clitest.Run("dedup", in, "--bpf-file", program); !strings.Contains(text, "  filtered ") {
			t.Errorf("%s: %q", in, text)
		}
	}
}

// TestFilterLinkTypes checks for one warning about a link type for which the expression
// has no meaning.
func TestFilterLinkTypes(t *testing.T) {
	clitest.NeedTcpdump(t)
	in := []string{clitest.Bundled("router-vlan.pcapng"), clitest.Bundled("tunnel-raw.pcap")}
	alone := clitest.RunDedup(t, cli.ExitDone, in[0], "--filter", "vlan 10")
	both := clitest.RunDedup(t, cli.ExitDone, append(in, "--no-merge", "--filter", "vlan 10")...)
	if alone.PacketsIn == 0 || both.PacketsIn != alone.PacketsIn || both.Filtered <= alone.Filtered {
		t.Errorf("%+v, alone %+v", both, alone)
	}
	_, errs, _ := clitest.Run(append([]string{"dedup", "--no-merge", "--filter", "vlan 10"}, in...)...)
	if !strings.Contains(errs, "warning: no packet of link type RAW matches") || strings.Count(errs, "\n") != 1 {
		t.Errorf("stderr %q", errs)
	}
}

// TestExpressionForInput checks that an expression among the inputs suggests --filter
// before anything is read or written.
func TestExpressionForInput(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("udp", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string // nothing where the arguments are names
	}{
		{[]string{"in.pcap", "tcp", "port", "443"}, "no file tcp; did you mean --filter 'tcp port 443'?"},
		{[]string{"in.pcap", "tcp port 443"}, "did you mean --filter 'tcp port 443'?"},
		{[]string{"-r", "in.pcap", "not", "host", "10.0.0.1"}, "did you mean --filter 'not host 10.0.0.1'?"},
		{[]string{"in.pcap", "tcp[13] & 2 != 0"}, "did you mean --filter 'tcp[13] & 2 != 0'?"},
		{[]string{"(src net 10.0.0.0/8)", "udp"}, "did you mean --filter '(src net 10.0.0.0/8)'?"},
		{[]string{"!arp", "-"}, "did you mean --filter '!arp'?"},
		{[]string{"udp"}, ""},
		{[]string{"tcp.pcap"}, ""},
		{[]string{"host-10.pcap", "portal"}, ""},
	} {
		for _, command := range [][]string{{"dedup", "-w", "out.pcap"}, {"distinct", "--csv", "out.csv"}} {
			out, errs, code := clitest.Run(append(command, c.args...)...)
			if c.want == "" {
				if code == cli.ExitUsage || strings.Contains(errs, "--filter") {
					t.Errorf("%q: exit code %d, stderr %q", c.args, code, errs)
				}
				continue
			}
			left, _ := filepath.Glob("out*")
			if code != cli.ExitUsage || out != "" || !strings.Contains(errs, c.want) || len(left) > 0 {
				t.Errorf("%q: exit code %d, stdout %q, stderr %q, files %q", c.args, code, out, errs, left)
			}
		}
	}
}
