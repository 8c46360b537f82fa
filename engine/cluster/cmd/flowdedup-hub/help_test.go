// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/help"
)

// TestHelp asks each command for help: it fits a terminal, has each flag under a heading, and
// examples.
func TestHelp(t *testing.T) {
	root := rootCommand(&logger{})
	for _, c := range append(root.Commands(), root) {
		words := strings.Fields(c.CommandPath())[1:]
		code, text, errOut := hubRun(append(words, "--help")...)
		if code != 0 || errOut != "" || !strings.Contains(text, "Usage:") {
			t.Errorf("%s: exit code %d, %q: %s", c.CommandPath(), code, errOut, text)
		}
		for line := range strings.Lines(text) {
			if columns := len([]rune(strings.TrimSuffix(line, "\n"))); columns > help.Columns && c.Name() != "completion" {
				t.Errorf("%s: a line of %d columns: %s", c.CommandPath(), columns, line)
			}
		}
	}
	_, text, _ := hubRun("--help")
	if !strings.Contains(text, "Examples:\n  flowdedup-hub ") {
		t.Errorf("no examples: %s", text)
	}
	_, short, _ := hubRun("-h")
	for _, c := range root.Commands() {
		if !c.Hidden && !strings.Contains(short, "\n  "+c.Name()+" ") {
			t.Errorf("-h has no command %s", c.Name())
		}
	}
	root.Flags().VisitAll(func(f *pflag.Flag) {
		if g := help.Of(f); !slices.Contains(flagGroups, g) || g == help.None && !slices.Contains([]string{"help", "version", "state", "config"}, f.Name) {
			t.Errorf("--%s is in the group %q", f.Name, g)
		}
		for _, of := range []string{text, short} {
			if strings.Count(of, " --"+f.Name+" ") < 1 {
				t.Errorf("no --%s in %s", f.Name, of)
			}
		}
	})
}

// TestVersion has each way to ask for the version print the commit once at most.
func TestVersion(t *testing.T) {
	commit := regexp.MustCompile(`[0-9a-f]{12}`)
	for _, args := range [][]string{{"version"}, {"--version"}} {
		code, out, _ := hubRun(args...)
		if code != 0 || !strings.HasPrefix(out, "flowdedup-hub ") || strings.Count(out, "\n") != 1 || len(commit.FindAllString(out, -1)) > 1 {
			t.Errorf("%q: exit code %d, %q", args, code, out)
		}
	}
}

// TestCompletion completes a command, a flag and the values of a flag. The flag must take
// each of them.
func TestCompletion(t *testing.T) {
	for _, c := range []struct{ typed, want string }{{"join", "join-token"}, {"--journ", "--journal"}, {"--identity fr", "frame"}, {"help sta", "status"}} {
		code, out, _ := hubRun(append([]string{"__completeNoDesc"}, strings.Fields(c.typed)...)...)
		if code != 0 || !slices.Contains(strings.Split(out, "\n"), c.want) {
			t.Errorf("%s: exit code %d, %q, want %s", c.typed, code, out, c.want)
		}
	}
	for _, word := range completed["identity"] {
		if _, err := identity.ParseKind(word); err != nil {
			t.Error(err)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if code, out, _ := hubRun("completion", shell); code != 0 || !strings.Contains(out, "flowdedup-hub") {
			t.Errorf("%s: exit code %d", shell, code)
		}
	}
}

// TestMan wants every command and every flag in the man page, without complaints of
// formatters.
func TestMan(t *testing.T) {
	code, text, errOut := hubRun("man")
	if code != 0 || errOut != "" {
		t.Fatal(code, errOut)
	}
	root := rootCommand(&logger{})
	for _, c := range append(root.Commands(), root) {
		if c.IsAvailableCommand() && c.HasParent() && !strings.Contains(text, ".SS "+strings.ReplaceAll(c.Use, "-", `\-`)) {
			t.Errorf("no command %s", c.Use)
		}
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" && !f.Hidden && !strings.Contains(text, `\fB\-\-`+strings.ReplaceAll(f.Name, "-", `\-`)+`\fR`) {
				t.Errorf("%s: no --%s", c.Name(), f.Name)
			}
		})
	}
	for _, command := range [][]string{{"groff", "-t", "-k", "-man", "-ww", "-Tutf8"}, {"mandoc", "-T", "lint", "-W", "warning"}} {
		if _, err := exec.LookPath(command[0]); err != nil {
			t.Logf("skipped: %v", err)
			continue
		}
		var complaints bytes.Buffer
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Stdin, cmd.Stderr = strings.NewReader(text), &complaints
		if command[0] == "mandoc" {
			cmd.Stdout = &complaints
		}
		if err := cmd.Run(); err != nil || complaints.Len() > 0 {
			t.Errorf("%q: %v: %s", command, err, complaints.String())
		}
	}
}
