// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/commands"
)

// TestHabits checks that command lines for other programs are answered with exit code 2, in
// one line, by the table.
func TestHabits(t *testing.T) {
	in := clitest.Bundled("router-plain.pcapng")
	for _, c := range []struct {
		args string
		want string
	}{
		{in, "flowdedup inspect FILE"},
		{"nothing.pcapng", "flowdedup inspect FILE"},
		{"-r " + in, "flowdedup dedup -r FILE"},
		{"-i lo", "flowdedup live -i"},
		{"-nn", "never looked up"},
		{"dedup -n " + in, "never looked up"},
		{"dedup -qn " + in, "there is no -n: "},
		{"dedup -nr " + in, "never looked up"},
		{"plan -c 5 " + in, "tcpdump -r FILE -c N"},
		{"dedup -s 64 " + in, "--slice N"},
		{"dedup -C 100 " + in, "--rotate-size"},
		{"dedup -d " + in, "--window n:5"},
		{"live -i lo -d tcp", "tcpdump -ddd"},
		{"dedup -D 5 " + in, "--identity frame --window n:N"},
		{"live -D", "lists interfaces"},
		{"dedup -I 14 " + in, "--ignore"},
		{"live -i lo -I", "iw dev"},
		{"dedup -o out.pcap " + in, "use -w"},
		{"dedup -F pcap " + in, "-w OUT.pcap"},
		{"dedup -i lo", "flowdedup live"},
		{"live -r " + in, "flowdedup dedup"},
		{"dedup -Y http " + in, "--filter"},
		{"dedup -S 0 " + in, "--sort"},
		{"dedup " + in + " -w 0.001", "--window 1ms"},
		{"live -i lo -w 1", "--window 1ms"},
		{"live -i lo --listen 9469", "there is no --listen: the page is at --http"},
		{"flows --serve 9470 --listen :2055", "--http"},
		{"flows --key biflow " + in, "--flow-key"},
		{"dedup --decap -w a " + in, "--strip tunnel"},
		{"distinct -o out.csv " + in, "--csv FILE.csv"},
		{"distinct --output out.html " + in, "--html FILE.html"},
		{"compare -o out.html " + in + " " + in, "use --html FILE.html"},
		{"inspect --output out.html " + in, "use --html FILE.html"},
		{"plan -o out.html", "use --html FILE.html"},
		{"verify -o out.html " + in + " " + in, "use --html FILE.html"},
		{"flows --output out.json " + in, "use -w FILE"},
		{"dedup --output out.pcap " + in, "use -w FILE"},
		{"dedup --format pcap " + in, "-w OUT.pcap"},
		{"distinct --format csv " + in, "--csv FILE writes CSV"},
		{"inspect --format json " + in, "--json prints JSON"},
		{"flows --format csv " + in, "the format of inputs; --csv FILE"},
		{"distinct --timezone Europe/Berlin " + in, "use --tz"},
		{"compare --timezone Local " + in + " " + in, "use --tz"},
		{"distinct -X " + in, "tcpdump -r FILE prints them"},
		{"verify -b 10 " + in + " " + in, "flowdedup dedup -w OUT --rotate-every"},
		{"distinct -I 14 " + in, "flowdedup dedup --ignore FIELD"},
		{"flows -f tcp " + in, "flowdedup dedup --filter"},
		{"verify --edge 1ms " + in + " " + in, "--tolerance"},
	} {
		out, errs, code := clitest.Run(strings.Fields(c.args)...)
		if code != cli.ExitUsage || out != "" || !strings.Contains(errs, c.want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%q: exit code %d, stdout %q, stderr %q, want %q", c.args, code, out, errs, c.want)
		}
	}
}

// others are parts of an answer that name another command or program.
var others = regexp.MustCompile(`(flowdedup (dedup|live|inspect)|editcap|tcpdump|tshark)[^;,]*`)

// TestHabitsNameFlags checks that every command has the flags that its answers name, and no
// answer for a flag that it has.
func TestHabitsNameFlags(t *testing.T) {
	root := commands.Root()
	lookup := func(cmd *cobra.Command, flag string) *pflag.Flag {
		if name, long := strings.CutPrefix(flag, "--"); long {
			return cmd.Flags().Lookup(name)
		}
		return cmd.Flags().ShorthandLookup(flag[1:])
	}
	used := map[string]bool{}
	for _, cmd := range root.Commands() {
		used[cmd.Name()] = true
		cmd.Flags().VisitAll(func(f *pflag.Flag) { used["--"+f.Name] = true })
		cli.EachHabit(func(typed, _ string) {
			if !strings.HasPrefix(typed, "-") || strings.ContainsAny(typed, "=+") {
				return
			}
			if lookup(cmd, typed) != nil {
				used[cmd.Name()+" "+typed] = true
				return
			}
			for _, flag := range regexp.MustCompile(`(^|[ ,(])--?[a-zA-Z][a-z-]*`).FindAllString(others.ReplaceAllString(cli.HabitOf(cmd, typed), ""), -1) {
				if flag = strings.Trim(flag, " ,("); flag != "-" && lookup(cmd, flag) == nil {
					t.Errorf("%s %s: there is no %s", cmd.Name(), typed, flag)
				}
			}
		})
	}
	cli.EachHabit(func(typed, names string) {
		for _, name := range strings.Fields(names) {
			if name != cli.NoCommand && !used[name] || used[name+" "+typed] {
				t.Errorf("%s: no command is or has %s, or it has the flag", typed, name)
			}
		}
	})
}

// TestInputsAreLookedUp checks that a missing input ends each command before another one is
// read or anything is written, and that a pipe is not opened for that.
func TestInputsAreLookedUp(t *testing.T) {
	in, dir := clitest.Bundled("router-plain.pcapng"), t.TempDir()
	missing, out := filepath.Join(dir, "no-such-file"), filepath.Join(dir, "out")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"dedup", "-w", out, in, missing}, missing},
		{[]string{"dedup", "-w", out, missing, in}, missing},
		{[]string{"dedup", "-w", out, in, dir}, "is a directory"},
		{[]string{"dedup", "-w", out, "--no-merge", in, missing}, missing},
		{[]string{"dedup", in, missing}, "to write it, use -w " + missing},
		{[]string{"dedup", "-r", missing, in}, missing},
		{[]string{"distinct", "--csv", out, in, missing}, missing},
		{[]string{"inspect", "--html", out, in, missing}, missing},
		{[]string{"compare", "--only-a", out, in, missing}, missing},
		{[]string{"verify", in, missing}, missing},
		{[]string{"verify", in, in, missing}, missing},
		{[]string{"plan", "--html", out, "--from", in, "--from", missing}, missing},
		{[]string{"flows", "-w", out, in, missing}, missing},
	} {
		stdout, errs, code := clitest.Run(c.args...)
		if code != cli.ExitFailed || stdout != "" || !strings.Contains(errs, c.want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%q: exit code %d, stdout %q, stderr %q", c.args, code, stdout, errs)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Fatalf("%q left %v, %v", c.args, left, err)
		}
	}
	if _, errs, code := clitest.Run("dedup", missing, in); code != cli.ExitFailed || strings.Contains(errs, "use -w") {
		t.Errorf("exit code %d, stderr %q", code, errs)
	}
}

// TestInPlace checks that an input is replaced only with --in-place, whatever its name is.
func TestInPlace(t *testing.T) {
	content := clitest.ReadFile(t, clitest.Bundled("router-plain.pcapng"))
	dir := t.TempDir()
	in, symbolic, hard := filepath.Join(dir, "in.pcapng"), filepath.Join(dir, "symbolic.pcapng"), filepath.Join(dir, "hard.pcapng")
	if err := os.WriteFile(in, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("in.pcapng", symbolic); err != nil {
		t.Skip(err)
	}
	if err := os.Link(in, hard); err != nil {
		t.Skip(err)
	}
	size := func() int64 {
		info, err := os.Stat(in)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	for _, name := range []string{in, filepath.Join(dir, ".", "..", filepath.Base(dir), "in.pcapng"), symbolic, hard} {
		out, errs, code := clitest.Run("dedup", in, "-w", name)
		if code != cli.ExitUsage || out != "" || !strings.Contains(errs, "--in-place") || size() != int64(len(content)) {
			t.Errorf("%s: exit code %d, %q, %q, %d bytes", name, code, out, errs, size())
		}
	}
	other := filepath.Join(dir, "other.pcapng")
	for _, args := range [][]string{{"-w", other, "--in-place"}, {"--in-place"}} {
		if _, errs, code := clitest.Run(append([]string{"dedup", in}, args...)...); code != cli.ExitUsage || !strings.Contains(errs, "names no input") {
			t.Errorf("%q: exit code %d, %q", args, code, errs)
		}
	}
	if _, errs, code := clitest.Run("dedup", in, "--duplicates", in, "--in-place"); code != cli.ExitUsage || !strings.Contains(errs, "--duplicates would replace") {
		t.Errorf("exit code %d, %q", code, errs)
	}
	for _, name := range []string{hard, symbolic} { // the hard link gets a file of its own
		if _, errs, code := clitest.Run("dedup", in, "-w", name, "--in-place"); code != cli.ExitDone || errs != "" {
			t.Fatalf("exit code %d, %q", code, errs)
		}
	}
	if size() >= int64(len(content)) {
		t.Errorf("%d bytes, as before", size())
	}
}

// TestInputOfStdin checks that an output is not the file that the shell gave as standard
// input: it would be replaced without a word, or grow for ever.
func TestInputOfStdin(t *testing.T) {
	content := clitest.ReadFile(t, clitest.Bundled("router-plain.pcapng"))
	in := filepath.Join(t.TempDir(), "in.pcapng")
	if err := os.WriteFile(in, content, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(in)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	stdin := os.Stdin
	os.Stdin = file
	defer func() { os.Stdin = stdin }()
	for _, args := range [][]string{
		{"dedup", "-", "-w", in}, {"dedup", "-", "-w", in, "--in-place"}, {"dedup", "-", "--duplicates", in}, {"inspect", "-", "--html", in},
	} {
		if _, errs, code := clitest.Run(args...); code != cli.ExitUsage || !strings.Contains(errs, "would replace the input -") {
			t.Errorf("%q: exit code %d, %q", args, code, errs)
		}
	}
	if after, err := os.ReadFile(in); err != nil || !bytes.Equal(after, content) {
		t.Errorf("the input has changed, %v", err)
	}
	if _, errs, code := clitest.Run("dedup", "-", "-w", in+".new"); strings.Contains(errs, "would replace") {
		t.Errorf("another file: exit code %d, %q", code, errs)
	}
}

// TestDamageKeepsOutput runs twice with damage that warnings report: the second run does not replace
// the output of the first, and does not end as if it did.
func TestDamageKeepsOutput(t *testing.T) {
	content, err := os.ReadFile(clitest.Bundled("router-plain.pcapng"))
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []uint32{6, 40, 0, 0, 0, 4, 4, 0, 5000<<16 | 1, 40} { // an option runs past its block
		content = binary.LittleEndian.AppendUint32(content, word)
	}
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.pcapng"), filepath.Join(dir, "out.pcapng")
	if err := os.WriteFile(in, content, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, kept := range []bool{false, true} {
		if _, errs, code := clitest.Run("dedup", in, "-w", out); code != cli.ExitDamaged || strings.Contains(errs, "was not written") != kept {
			t.Errorf("exit code %d, %q", code, errs)
		}
	}
}

// TestOutputOfAnotherCompression checks that no plain file gets the name of a compressed one.
func TestOutputOfAnotherCompression(t *testing.T) {
	out := filepath.Join(t.TempDir(), "clean.pcap.xz")
	for _, flag := range []string{"-w", "--duplicates"} {
		_, errs, code := clitest.Run("dedup", clitest.Bundled("router-plain.pcapng"), flag, out)
		if want := "flowdedup: " + flag + " " + out + ": .xz is not written: name a file in .gz, .zst or .lz4\n"; code != cli.ExitUsage || errs != want {
			t.Errorf("exit code %d, %q, want %q", code, errs, want)
		}
	}
	if _, err := os.Stat(out); !os.IsNotExist(err) {
		t.Error(err)
	}
}

// TestFolderAsOutput names folders that look like numbers of editcap.
func TestFolderAsOutput(t *testing.T) {
	in, err := filepath.Abs(clitest.Bundled("router-plain.pcapng"))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "in")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for _, name := range []string{".", ".."} {
		clitest.RunDedup(t, cli.ExitDone, in, "-w", name)
		if _, err := os.Stat(filepath.Join(name, "router-plain.pcapng")); err != nil {
			t.Errorf("-w %s: %v", name, err)
		}
	}
}
