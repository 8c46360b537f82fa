package cli

import (
	"bufio"
	"os"
	"strings"
	"testing"
)

// TestUsageErrors wants exit code 2, one line that helps, and nothing on
// stdout.
func TestUsageErrors(t *testing.T) {
	in := bundled("router-plain.pcapng")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"dedup"}, "name a capture"},
		{[]string{"distinct"}, "name a capture"},
		{[]string{"dedup", ""}, "empty"},
		{[]string{"distinct", "-r", ""}, "empty"},
		{[]string{"dedup", "-r", in, in}, "same file"},
		{[]string{"dedup", "-r", in, "-w", in, in}, "same file"},
		{[]string{"dedpu", in}, `did you mean "dedup"?`},
		{[]string{"dedup", in, "--windo", "1s"}, "did you mean --window?"},
		{[]string{"dedup", in, "-x"}, "in -x (see flowdedup dedup --help)"},
		{[]string{"help", "dedupe"}, `did you mean "dedup"?`},
		{[]string{"help", "nothing"}, `unknown command "nothing"`},
		{[]string{"dedup", in, "--window", "soon"}, "window"},
		{[]string{"dedup", in, "--window", "-1s"}, "window"},
		{[]string{"dedup", in, "--identity", "l4"}, "l3"},
		{[]string{"dedup", in, "--ignore", "colour"}, "l4-checksum"},
		{[]string{"dedup", in, "--identity-bytes", "-1"}, "negative"},
		{[]string{"dedup", in, "--method", "magic"}, "timed"},
		{[]string{"dedup", in, "--method", "lru"}, "--window none"},
		{[]string{"dedup", in, "--method", "sbf", "--window", "none", "--across"}, "--across"},
		{[]string{"dedup", in, "--method", "sbf", "--window", "none", "--fpr", "1e-9"}, "sbf"},
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
		{[]string{"distinct", in, "--window", "1h", "--every", "1h"}, "former name of --every"},
		{[]string{"distinct", in, "--slide", "1m", "--list"}, "--list"},
		{[]string{"distinct", in, "--slide", "1m", "--method", "bloom"}, "exact"},
		{[]string{"distinct", in, "--slide", "1m", "--fpr", "1e-12"}, "1e-09"},
		{[]string{"distinct", in, "--fpr", "1e-20"}, "fpr"},
		{[]string{"distinct", in, "--fpr", "0.9"}, "fpr"},
		{[]string{"dedup", in, "--fpr", "1e-30"}, "false positive rate"},
		{[]string{"version", "x"}, "no arguments"},
		{[]string{"distinct", in, "--csv", "-"}, "--quiet"},
		{[]string{"distinct", in, "--csv", "-", "--quiet", "--json"}, "--quiet"},
	} {
		out, errs, code := run(c.args...)
		if code != exitUsage || out != "" || !strings.Contains(errs, c.want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%q: exit code %d, stdout %q, stderr %q, want %q", c.args, code, out, errs, c.want)
		}
	}
}

// TestFailures wants exit code 1 and a line that names the file.
func TestFailures(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"dedup", "no-such-file"}, "no-such-file"},
		{[]string{"distinct", "no-such-file"}, "no-such-file"},
		{[]string{"dedup", dir}, dir},
		{[]string{"dedup", bundled("router-plain.pcapng"), "-w", dir + "/no/such/folder"}, dir + "/no/such/folder"},
		{[]string{"distinct", bundled("router-plain.pcapng"), "--csv", dir + "/no/such/folder"}, dir + "/no/such/folder"},
	} {
		_, errs, code := run(c.args...)
		if code != exitFailed || !strings.Contains(errs, c.want) || !strings.HasPrefix(errs, "flowdedup: ") {
			t.Errorf("%q: exit code %d, stderr %q", c.args, code, errs)
		}
	}
}

// TestFullDisk wants an error in place of a summary.
func TestFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full")
	}
	for _, flag := range []string{"-w", "--duplicates"} {
		out, errs, code := run("dedup", bundled("router-plain.pcapng"), flag, "/dev/full")
		if code != exitFailed || out != "" || !strings.HasPrefix(errs, "flowdedup: write /dev/full: ") {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q", flag, code, out, errs)
		}
	}
}

// TestMissingInputAmongOthers processes the others and fails in the end.
func TestMissingInputAmongOthers(t *testing.T) {
	in := bundled("router-plain.pcapng")
	alone := runDedup(t, exitDone, in)
	both := runDedup(t, exitFailed, "no-such-file", in)
	if both.PacketsIn != alone.PacketsIn || both.Duplicates != alone.Duplicates {
		t.Errorf("%+v, want %+v", both, alone)
	}
}

// TestHelpFits keeps help texts within a terminal's 79 columns, and complete:
// every command has an example, every flag a line.
func TestHelpFits(t *testing.T) {
	for _, command := range []string{"dedup", "distinct", "live", "plan", "version"} {
		short, _, shortCode := run(command, "-h")
		out, _, code := run(command, "--help")
		if code != exitDone || shortCode != exitDone {
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
		want, _, _ := run(append(strings.Fields(command), "--help")...)
		out, errs, code := run(append([]string{"help"}, strings.Fields(command)...)...)
		if code != exitDone || errs != "" || out != want {
			t.Errorf("help %s: exit code %d, stderr %q, %q, want %q", command, code, errs, out, want)
		}
	}
}

func TestVersionAndCompletion(t *testing.T) {
	if out, _, code := run("version"); code != exitDone || !strings.HasPrefix(out, "flowdedup ") {
		t.Errorf("version: %d, %q", code, out)
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if out, _, code := run("completion", shell); code != exitDone || !strings.Contains(out, "flowdedup") {
			t.Errorf("completion %s: %d", shell, code)
		}
	}
}
