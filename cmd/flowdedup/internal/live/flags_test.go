// SPDX-License-Identifier: Apache-2.0

package live

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
)

// parseLive parses a command line of live.
func parseLive(t *testing.T, line string) (*flags, *cobra.Command, error) {
	t.Helper()
	f, cmd := &flags{}, &cobra.Command{}
	f.register(cmd)
	if err := cmd.ParseFlags(append([]string{"-i", "lo"}, strings.Fields(line)...)); err != nil {
		return nil, nil, err
	}
	return f, cmd, f.check(cmd)
}

// TestTcpdumpFlags checks that the short flags of tcpdump mean the same here.
func TestTcpdumpFlags(t *testing.T) {
	f, cmd, err := parseLive(t, "-pC 100 -W 5 -s 96 -B 4096 -Z nobody -c 10 -w out.pcapng")
	if err != nil {
		t.Fatal(err)
	}
	c := f.config(cmd)
	if r := c.Outputs.Rotate; r.Size != 100_000_000 || r.Keep != 5 || r.Every != 0 {
		t.Errorf("rotation %+v", r)
	}
	if r := c.Ring; r.SnapLen != 96 || r.RingBytes != 4<<20 || r.Promiscuous || c.User != "nobody" || c.Packets != 10 {
		t.Errorf("%+v", c)
	}
	if f, cmd, err = parseLive(t, "-G 3600 -C 2g -w out.pcapng"); err != nil {
		t.Fatal(err)
	}
	if c := f.config(cmd); c.Outputs.Rotate.Every != time.Hour || c.Outputs.Rotate.Size != 2<<30 || !c.Ring.Promiscuous {
		t.Errorf("%+v", c)
	}
}

func TestTcpdumpFlagsRefused(t *testing.T) {
	for line, want := range map[string]string{
		"-w a -C 1 --rotate-size 1MB":    "-C and --rotate-size",
		"-w a -G 1 --rotate-every 1h":    "-G and --rotate-every",
		"-w a -C 1 -W 2 --rotate-keep 3": "-W and --rotate-keep",
		"-B 4096 --ring-size 1MiB":       "-B and --ring-size",
		"-p --promiscuous":               "-p and --promiscuous",
		"-w a -G 60 -W 3":                "-W and -G",
		"-w a -G 60 -C 1 -W 3":           "-W and -G",
		"-w a -W 3":                      "-W needs -C",
		"-C 1":                           "-w",
		"-w a -C 0":                      "millions of bytes",
		"-w a -C 1.5":                    "millions of bytes",
		"-w a -G 0":                      "seconds",
		"-w a -G 1m":                     "seconds",
		"-w a -C 1 -W -1":                "positive",
		"-B 4MiB":                        "KiB",
	} {
		if _, _, err := parseLive(t, line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}

// TestLiveExpression takes the arguments of live as a filter.
func TestLiveExpression(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("x", nil, 0o600); err != nil {
		t.Fatal(err)
	}
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
		err = f.Filter.TakeExpression(cmd, c.args)
		usage := new(cli.Env).ExitCode(err) == cli.ExitUsage
		if usage != c.fails || !c.fails && f.Filter.Wanted.Expr != c.expr {
			t.Errorf("%+v: %v, %q", c, err, f.Filter.Wanted.Expr)
		}
	}
}

// TestLeastBudget refuses less memory than the smallest counters of all keys take.
func TestLeastBudget(t *testing.T) {
	for line, want := range map[string]string{
		"--of src --slide 0 --distinct-memory 431KiB": "--distinct-memory must be at least 432KiB",
		"--of src --slide 0 --distinct-memory 432KiB": "",
		"--of src --distinct-memory 647KiB":           "--distinct-memory must be at least 648KiB",
	} {
		_, _, err := parseLive(t, line)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}
