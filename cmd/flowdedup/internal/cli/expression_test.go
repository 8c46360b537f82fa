package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExpressionForInput tells of --filter before anything is read or written.
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
			out, errs, code := run(append(command, c.args...)...)
			if c.want == "" {
				if code == exitUsage || strings.Contains(errs, "--filter") {
					t.Errorf("%q: exit code %d, stderr %q", c.args, code, errs)
				}
				continue
			}
			left, _ := filepath.Glob("out*")
			if code != exitUsage || out != "" || !strings.Contains(errs, c.want) || len(left) > 0 {
				t.Errorf("%q: exit code %d, stdout %q, stderr %q, files %q", c.args, code, out, errs, left)
			}
		}
	}
}

// TestLiveExpression takes arguments for a filter.
func TestLiveExpression(t *testing.T) {
	for _, c := range []struct {
		flags string
		args  []string
		expr  string
		fails bool
	}{
		{"", []string{"tcp", "port", "443"}, "tcp port 443", false},
		{"", []string{"not udp"}, "not udp", false},
		{"", []string{""}, "", false},
		{"--filter udp", nil, "udp", false},
		{"--filter udp", []string{"tcp"}, "", true},
		{"--bpf-file x", []string{"tcp"}, "", true},
	} {
		f, cmd, err := parseLive(t, c.flags)
		if err != nil {
			t.Fatal(err)
		}
		err = f.filter.takeExpression(cmd, c.args)
		var usage *usageError
		if errors.As(err, &usage) != c.fails || !c.fails && f.filter.wanted.Expr != c.expr {
			t.Errorf("%+v: %v, %q", c, err, f.filter.wanted.Expr)
		}
	}
}
