// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/gopacket/layers"
	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/help"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/commands"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
)

// TestUsageErrors checks for exit code 2, one line that helps, and nothing on standard
// output.
func TestUsageErrors(t *testing.T) {
	in := clitest.Bundled("router-plain.pcapng")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"dedup"}, "name a capture"},
		{[]string{"distinct"}, "name a capture"},
		{[]string{"dedup", ""}, "empty"},
		{[]string{"distinct", "-r", ""}, "empty"},
		{[]string{"dedup", "-r", in, in}, "same file"},
		{[]string{"dedup", "-r", in, "-w", in, "--in-place", in}, "same file"},
		{[]string{"dedpu", in}, `did you mean "dedup"?`},
		{[]string{"dedup", in, "--windo", "1s"}, "did you mean --window?"},
		{[]string{"--json", "dedup", in}, "--json goes behind a command: flowdedup COMMAND --json"},
		{[]string{"-q", "dedup", in}, "-q goes behind a command: flowdedup COMMAND -q"},
		{[]string{"--jsn", "dedup", in}, "unknown flag: --jsn"},
		{[]string{"verify", in}, "got 1 name"},
		{[]string{"dedup", in, "-x"}, "in -x (see flowdedup dedup --help)"},
		{[]string{"help", "dedupe"}, `did you mean "dedup"?`},
		{[]string{"help", "nothing"}, `unknown command "nothing"`},
		{[]string{"completion", "zhs"}, `unknown command "zhs"`},
		{[]string{"completion", "bash", "x"}, "takes no arguments"},
		{[]string{"version", "x"}, "takes no arguments"},
		{[]string{"live", "-i", "lo", "-W", "3"}, "-W needs -C"},
		{[]string{"live", "-i", "lo", "--forward", "mon0", "--balance", "conversation"}, "several outputs"},
		{[]string{"live", "-i", "lo", "-w", "a.pcap", "-w", "b.pcap"}, "several -w are for tcp://"},
		{[]string{"live", "-i", "lo", "--forward", "mon0", "--forward", "mon0"}, "named twice"},
		{[]string{"live", "-i", "lo", "--forward", "mon0", "--on-failure", "spread"}, "needs --balance"},
		{[]string{"live", "-i", "lo", "-w", "tcp-listen://:1?format=pcap", "--mark"}, "comments"},
		{[]string{"dedup", in, "-w", "tcp-listen://:1?speed=9"}, "no option"},
		{[]string{"dedup", "tcp://h:1?format=pcap"}, "format= is for outputs"},
		{[]string{"dedup", in, "--window", "soon"}, "window"},
		{[]string{"dedup", in, "--window", "-1s"}, "window"},
		{[]string{"dedup", in, "--identity", "l4"}, "l3"},
		{[]string{"dedup", in, "--ignore", "colour"}, "l4-checksum"},
		{[]string{"dedup", in, "--identity-bytes", "-1"}, "negative"},
		{[]string{"dedup", in, "--method", "magic"}, "timed"},
		{[]string{"dedup", in, "--method", "lru"}, "--window none"},
		{[]string{"dedup", in, "--method", "sbf", "--window", "none", "--across"}, "--across"},
		{[]string{"dedup", in, "--method", "sbf", "--window", "none", "--fpr", "1e-9"}, "sbf"},
		{[]string{"dedup", in, "--method", "coarse", "--window", "none"}, "--window 1ms"},
		{[]string{"dedup", in, "--method", "coarse", "--across"}, "--across"},
		{[]string{"dedup", in, "--method", "coarse", "--fpr", "1e-9"}, "8.9e-07"},
		{[]string{"dedup", in, "--method", "fine", "--window", "none"}, "--window 1ms"},
		{[]string{"dedup", in, "--method", "fine", "--across"}, "--across"},
		{[]string{"dedup", in, "--method", "fine", "--fpr", "1e-10"}, "7e-10"},
		{[]string{"dedup", in, "--memory", "much"}, "8MiB"},
		{[]string{"dedup", in, "--memory", "1"}, "at least"},
		{[]string{"dedup", in, "--fpr", "2"}, "between 0 and 1"},
		{[]string{"dedup", in, "--key", "xyz"}, "hex"},
		{[]string{"dedup", in, "--digest", "md5"}, "highway"},
		{[]string{"dedup", in, "-w", "a", "--duplicates", "./a"}, "same file"},
		{[]string{"dedup", "-", "-"}, "only once"},
		{[]string{"dedup", in, "--rotate-every", "1h"}, "-w"},
		{[]string{"dedup", in, "-w", "a", "--rotate-keep", "3"}, "--rotate-size"},
		{[]string{"dedup", in, "-w", "a", "--rotate-every", "1h", "--rotate-keep", "-1"}, "negative"},
		{[]string{"dedup", in, "-w", "a", "--rotate-every", "0"}, "duration"},
		{[]string{"dedup", in, "-w", "a", "--rotate-size", "100"}, "1KiB"},
		{[]string{"dedup", in, "-w", "-", "--rotate-size", "1MiB"}, "cannot be rotated"},
		{[]string{"dedup", in, "-w", os.TempDir(), "--rotate-size", "1MiB"}, "cannot be rotated"},
		{[]string{"dedup", "tcp://sensor"}, "57012"},
		{[]string{"dedup", "tcp://sensor:x"}, "port"},
		{[]string{"dedup", in, "-w", "tcp://:1"}, "no host"},
		{[]string{"dedup", in, "-w", "tcp://sensor:1", "--rotate-size", "1MiB"}, "write files"},
		{[]string{"dedup", in, "--tls-ca", "ca.pem"}, "tcp-listen://"},
		{[]string{"dedup", "tcp-listen://:1", "--tls-ca", "ca.pem"}, "--tls-cert"},
		{[]string{"dedup", "tcp-listen://:1", "--tls-key", "key.pem"}, "belong together"},
		{[]string{"dedup", "tcp-listen://:1", "--no-merge"}, "--no-merge"},
		{[]string{"dedup", in, "--no-merge", "--merge-wait", "1s"}, "--no-merge"},
		{[]string{"distinct", "tcp-listen://1"}, "57012"},
		{[]string{"distinct", in, "--of", "src,colour"}, "biflow"},
		{[]string{"distinct", in, "--of", "src,src"}, "twice"},
		{[]string{"distinct", in, "--every", "0"}, "duration"},
		{[]string{"distinct", in, "--tz", "Mars/Base"}, "time zone"},
		{[]string{"distinct", in, "--mask4", "33"}, "mask4"},
		{[]string{"distinct", in, "--every", "soon"}, "or none"},
		{[]string{"distinct", in, "--every", "9999h", "--slide", "9999h"}, "366 days"},
		{[]string{"distinct", in, "--slide", "1m", "--every", "none"}, "--every none"},
		{[]string{"distinct", in, "--slide", "0", "--every", "1h"}, "duration"},
		{[]string{"distinct", in, "--slide", "2h"}, "longer"},
		{[]string{"distinct", in, "--slide", "7m"}, "divide"},
		{[]string{"distinct", in, "--slide", "100ms"}, "4096"},
		{[]string{"distinct", in, "--window", "1h"}, "there is no --window: use --every"},
		{[]string{"distinct", in, "--slide", "1m", "--list"}, "--list"},
		{[]string{"distinct", in, "--slide", "1m", "--method", "bloom"}, "exact"},
		{[]string{"distinct", in, "--slide", "1m", "--fpr", "1e-12"}, "1e-09"},
		{[]string{"distinct", in, "--fpr", "1e-20"}, "fpr"},
		{[]string{"distinct", in, "--fpr", "1e-11", "--memory", "64MiB"}, "at least 1e-10 with --memory"},
		{[]string{"distinct", in, "--fpr", "0.9"}, "fpr"},
		{[]string{"dedup", in, "--fpr", "1e-30"}, "false positive rate"},
		{[]string{"version", "x"}, "no arguments"},
		{[]string{"distinct", in, "--csv", "-"}, "--quiet"},
		{[]string{"distinct", in, "--csv", "-", "--quiet", "--json"}, "--quiet"},
	} {
		out, errs, code := clitest.Run(c.args...)
		if code != cli.ExitUsage || out != "" || !strings.Contains(errs, c.want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%q: exit code %d, stdout %q, stderr %q, want %q", c.args, code, out, errs, c.want)
		}
	}
}

// TestFailures checks for exit code 1 and a line that names the file.
func TestFailures(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"dedup", "no-such-file"}, "no-such-file"},
		{[]string{"distinct", "no-such-file"}, "no-such-file"},
		{[]string{"dedup", dir}, dir},
		{[]string{"dedup", clitest.Bundled("router-plain.pcapng"), "-w", dir + "/no/such/folder"}, dir + "/no/such/folder"},
		{[]string{"distinct", clitest.Bundled("router-plain.pcapng"), "--csv", dir + "/no/such/folder"}, dir + "/no/such/folder"},
	} {
		_, errs, code := clitest.Run(c.args...)
		if code != cli.ExitFailed || !strings.Contains(errs, c.want) || !strings.HasPrefix(errs, "flowdedup: ") {
			t.Errorf("%q: exit code %d, stderr %q", c.args, code, errs)
		}
	}
}

// TestFullDisk checks for an error instead of a summary.
func TestFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full")
	}
	for _, flag := range []string{"-w", "--duplicates"} {
		out, errs, code := clitest.Run("dedup", clitest.Bundled("router-plain.pcapng"), flag, "/dev/full")
		if code != cli.ExitFailed || out != "" || !strings.HasPrefix(errs, "flowdedup: write /dev/full: ") {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q", flag, code, out, errs)
		}
	}
}

// TestHelpFits checks that help fits into 79 columns and is complete: every command has
// an example, every flag a line.
func TestHelpFits(t *testing.T) {
	for _, command := range []string{"dedup", "distinct", "live", "inspect", "compare", "verify", "flows", "plan", "version"} {
		short, _, shortCode := clitest.Run(command, "-h")
		out, _, code := clitest.Run(command, "--help")
		if code != cli.ExitDone || shortCode != cli.ExitDone {
			t.Fatalf("%s --help: exit code %d, %d with -h", command, code, shortCode)
		}
		if command != "version" && !strings.Contains(out, "Examples:") {
			t.Errorf("%s has no example", command)
		}
		for sc := bufio.NewScanner(strings.NewReader(out + short)); sc.Scan(); {
			if len(sc.Text()) > 79 {
				t.Errorf("%s: %d columns: %s", command, len(sc.Text()), sc.Text())
			}
		}
	}
}

// TestHelpCommand prints what --help prints.
func TestHelpCommand(t *testing.T) {
	for _, command := range []string{"", "dedup", "distinct", "completion bash"} {
		want, _, _ := clitest.Run(append(strings.Fields(command), "--help")...)
		out, errs, code := clitest.Run(append([]string{"help"}, strings.Fields(command)...)...)
		if code != cli.ExitDone || errs != "" || out != want {
			t.Errorf("help %s: exit code %d, stderr %q, %q, want %q", command, code, errs, out, want)
		}
	}
}

func TestVersionAndCompletion(t *testing.T) {
	if out, _, code := clitest.Run("version"); code != cli.ExitDone || !strings.HasPrefix(out, "flowdedup ") {
		t.Errorf("version: %d, %q", code, out)
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if out, _, code := clitest.Run("completion", shell); code != cli.ExitDone || !strings.Contains(out, "flowdedup") {
			t.Errorf("completion %s: %d", shell, code)
		}
	}
}

// TestDaysEverywhere checks that each flag of a duration accepts days.
func TestDaysEverywhere(t *testing.T) {
	durations := 0
	for _, cmd := range commands.Root().Commands() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if kind := f.Value.Type(); kind != "duration" && kind != "window" {
				return
			}
			durations++
			if err := f.Value.Set("1d"); err != nil {
				t.Errorf("%s --%s: %v", cmd.Name(), f.Name, err)
			}
		})
	}
	if durations < 12 {
		t.Errorf("%d flags of durations", durations)
	}
}

// TestDays counts in the same windows with 1d as with 24h.
func TestDays(t *testing.T) {
	in := clitest.Bundled("router-plain.pcapng")
	want, _, _ := clitest.Run("distinct", "--json", "--every", "24h", in)
	if got, errs, code := clitest.Run("distinct", "--json", "--every", "1d", in); code != cli.ExitDone || got != want || !strings.Contains(want, "T00:00:00") {
		t.Errorf("exit code %d, %s%s, want %s", code, got, errs, want)
	}
}

// TestCSVKeepsInput checks that a CSV file cannot replace a capture.
func TestCSVKeepsInput(t *testing.T) {
	in := filepath.Join(t.TempDir(), "in.pcapng")
	data := clitest.ReadFile(t, clitest.Bundled("router-plain.pcapng"))
	if err := os.WriteFile(in, data, 0o666); err != nil {
		t.Fatal(err)
	}
	_, errs, code := clitest.Run("distinct", "--csv", in, in)
	if code != cli.ExitUsage || !strings.Contains(errs, in) {
		t.Errorf("exit code %d, stderr %q", code, errs)
	}
	if now, err := os.ReadFile(in); err != nil || string(now) != string(data) {
		t.Errorf("the input changed: %v", err)
	}
}

// TestNoMemoryForWindow checks for an error if a counter cannot be made.
func TestNoMemoryForWindow(t *testing.T) {
	_, errs, code := clitest.Run("distinct", "--method", "bloom", "--memory", "64TiB", clitest.Bundled("router-plain.pcapng"))
	if code != cli.ExitFailed || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, "memory") {
		t.Errorf("exit code %d, stderr %q", code, errs)
	}
}

// TestGroups checks that each flag of our commands has a heading, and appears there once
// in --help.
func TestGroups(t *testing.T) {
	for _, cmd := range commands.Root().Commands() {
		if !help.Grouped(cmd.LocalFlags()) {
			continue
		}
		long, _, _ := clitest.Run(cmd.Name(), "--help")
		short, _, _ := clitest.Run(cmd.Name(), "-h")
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			name := "--" + f.Name + " "
			lines := func(text string) int {
				return strings.Count(text, "\n      "+name) + strings.Count(text, "\n  -"+f.Shorthand+", "+name)
			}
			group := help.Of(f)
			if group == help.None || !slices.Contains(cli.Groups(), group) || lines(long) != 1 {
				t.Errorf("%s --%s: group %q, %d lines of --help", cmd.Name(), f.Name, group, lines(long))
			}
			if want := group != help.Advanced; (lines(short) == 1) != want {
				t.Errorf("%s --%s: %d lines of -h, in the group %s", cmd.Name(), f.Name, lines(short), group)
			}
		})
	}
}

// TestShortHelp checks that -h shows the main flags, whatever other flags are given.
func TestShortHelp(t *testing.T) {
	want, errs, code := clitest.Run("dedup", "-h")
	if code != cli.ExitDone || errs != "" || !strings.Contains(want, "Comparing flags:\n      --window window") || strings.Contains(want, "Examples:") {
		t.Errorf("exit code %d, stderr %q: %s", code, errs, want)
	}
	for line := range strings.Lines(want) {
		if strings.HasPrefix(line, "       ") {
			t.Errorf("-h has a second line for a flag: %s", line)
		}
	}
	for _, method := range dedup.MeasuringMethods() {
		if strings.Contains(want, " "+method+",") {
			t.Errorf("-h names the method %s", method)
		}
	}
	if got, _, code := clitest.Run("dedup", "-qh", "in.pcap"); code != cli.ExitDone || got != want {
		t.Errorf("-qh: exit code %d: %s", code, got)
	}
	if long, _, _ := clitest.Run("dedup", "-h", "--help"); !strings.Contains(long, "Examples:") {
		t.Errorf("--help beside -h: %s", long)
	}
}

// writeRaw makes a capture of raw IP.
func writeRaw(t *testing.T, packets ...string) string {
	t.Helper()
	var frames [][]byte
	for _, p := range packets {
		frames = append(frames, []byte(p))
	}
	return writeEvery(t, "raw.pcap", layers.LinkTypeRaw, 0, time.Second, frames...)
}

// TestTunnelsNoticed checks that identity inner is suggested if many packets are in
// tunnels, as where each is seen inside and outside of one, and only if it would change something.
func TestTunnelsNoticed(t *testing.T) {
	const address = "\x0a\x00\x00\x01\x0a\x00\x00\x02"
	const plain = "\x45\x00\x00\x1c\x00\x01\x00\x00\x40\x11\x00\x00" + address + "\x00\x05\x00\x06\x00\x08\x00\x00"
	const gre = "\x45\x00\x00\x34\x00\x01\x00\x00\x40\x2f\x00\x00" + address + "\x00\x00\x08\x00" + plain
	const want = "flowdedup: noticed: 50 % of packets are GRE; for copies inside of tunnels try --identity inner\n"
	half, few := writeRaw(t, gre, plain, gre, plain), writeRaw(t, gre, plain, plain, plain, plain)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{half}, want},
		{[]string{"--json", half}, want},
		{[]string{"--quiet", half}, ""},
		{[]string{"--identity", "inner", half}, ""},
		{[]string{"--identity", "frame", half}, ""},
		{[]string{few}, ""},
	} {
		out, errs, code := clitest.Run(append([]string{"dedup"}, c.args...)...)
		if code != cli.ExitDone || errs != c.want || strings.Contains(out, "noticed: ") {
			t.Errorf("%v: exit code %d, %q", c.args, code, errs)
		}
	}
}
