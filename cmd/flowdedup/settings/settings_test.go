// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/once"
)

var errUsage = errors.New("usage")

// execute runs a command line of a small program, and returns the values that its flags have.
func execute(t *testing.T, args ...string) (string, error) {
	t.Helper()
	said, _, err := executeWarned(t, args...)
	return said, err
}

// executeWarned is execute, and returns the warnings, too.
func executeWarned(t *testing.T, args ...string) (said string, warned []string, err error) {
	t.Helper()
	root := &cobra.Command{Use: "root", SilenceErrors: true, SilenceUsage: true}
	for _, name := range []string{"live", "dedup"} {
		c := &cobra.Command{Use: name, Args: cobra.NoArgs}
		window := c.Flags().String("window", "1ms", "")
		count := c.Flags().Int("count", 0, "")
		wait := c.Flags().Bool("merge-wait", false, "")
		share := c.Flags().Float64("share", 0, "")
		of := ""
		c.Flags().Var(once.List(&of), "of", "")
		if name == "live" {
			c.Flags().String("listen", "", "")
		}
		c.RunE = func(*cobra.Command, []string) error {
			said = fmt.Sprint(*window, *count, *wait, *share, of)
			return nil
		}
		root.AddCommand(c)
	}
	Define(root, "SETTINGS_TEST_", func(err error) error { return fmt.Errorf("%w: %w", errUsage, err) },
		func(c *cobra.Command, err error) { warned = append(warned, c.Name()+": "+err.Error()) })
	once.Flags(root)
	root.SetArgs(args)
	err = root.Execute()
	return said, warned, err
}

// TestPrecedence takes values from all places: the nearest one wins, for each flag.
func TestPrecedence(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.toml")
	text := "window = \"5ms\"\ncount = 3\nlisten = \"9469\"\n[live]\nwindow = \"7ms\"\nof = [\"src\", \"dst\"]\nmerge-wait = true\nshare = 0.25\n[dedup]\ncount = 4\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args, environment, want string
	}{
		{"live", "", "1ms0 false 0"},
		{"live --config FILE", "", "7ms3 true 0.25src,dst"},
		{"dedup --config FILE", "", "5ms4 false 0"},
		{"live --config FILE --window 1s --of flow", "", "1s3 true 0.25flow"},
		{"live --config FILE", "WINDOW=2ms OF=src,flow", "2ms3 true 0.25src,flow"},
		{"live --config FILE --window 1s", "WINDOW=2ms MERGE_WAIT=false", "1s3 false 0.25src,dst"},
		{"live", "CONFIG=FILE COUNT=9", "7ms9 true 0.25src,dst"},
		{"live", "HELP=true UNKNOWN=x", "1ms0 false 0"},
	} {
		t.Run(c.args+" "+c.environment, func(t *testing.T) {
			for _, v := range strings.Fields(c.environment) {
				name, value, _ := strings.Cut(strings.ReplaceAll(v, "FILE", file), "=")
				t.Setenv("SETTINGS_TEST_"+name, value)
			}
			args := strings.Fields(c.args)
			for i, arg := range args {
				args[i] = strings.ReplaceAll(arg, "FILE", file)
			}
			got, err := execute(t, args...)
			if err != nil || got != c.want {
				t.Errorf("%v, %s, want %s", err, got, c.want)
			}
		})
	}
}

// TestWrong rejects invalid values, in one line that says where they stand.
func TestWrong(t *testing.T) {
	for name, c := range map[string]struct{ text, has string }{
		"no TOML":            {"window = \n", "line 1"},
		"no flag":            {"windw = \"1ms\"\n", "no flag --windw"},
		"no command":         {"[lve]\nwindow = \"1ms\"\n", "[lve]: no such command"},
		"of another command": {"[dedup]\nlisten = \"1\"\n", "[dedup]: no flag --listen"},
		"no number":          {"count = \"many\"\n", "count"},
		"two values":         {"window = [\"1ms\", \"2ms\"]\n", once.ErrTwice.Error()},
		"a date":             {"window = 2026-11-22\n", errKind.Error()},
		"a list of lists":    {"of = [[\"src\"]]\n", errKind.Error()},
		"a file in a file":   {"config = \"x\"\n", "no flag --config"},
		"long":               {strings.Repeat("#", mostBytes+1), "more than"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "s.toml")
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := execute(t, "live", "--config", file)
			if !errors.Is(err, errUsage) || !errors.Is(err, errFile) || !strings.Contains(err.Error(), c.has) || !strings.Contains(err.Error(), file) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want %q", err, c.has)
			}
		})
	}
	if _, err := execute(t, "live", "--config", filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) || !errors.Is(err, errFile) {
		t.Errorf("no file: %v", err)
	}
	t.Setenv("SETTINGS_TEST_COUNT", "many")
	if _, err := execute(t, "live"); !errors.Is(err, errUsage) || !strings.Contains(err.Error(), "SETTINGS_TEST_COUNT") {
		t.Errorf("a wrong variable: %v", err)
	}
}

// TestMistyped warns of a variable that is almost a flag's, of any command, and only of it.
func TestMistyped(t *testing.T) {
	for name, near := range map[string]string{
		"WINDWO": "WINDOW", "MERGEWAIT": "MERGE_WAIT", "LISTE": "LISTEN", "CONFG": "CONFIG", "HELPP": "HELP",
		"WINDOW": "", "LISTEN": "", "OPTIONS": "", "TOKEN": "", "OFF": "OF", "ON": "", "": "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("SETTINGS_TEST_"+name, "1s")
			_, warned, err := executeWarned(t, "dedup")
			if err != nil {
				t.Fatal(err)
			}
			want := "dedup: SETTINGS_TEST_" + name + " is no flag's variable and has no effect; did you mean SETTINGS_TEST_" + near + "?"
			if near == "" && len(warned) != 0 || near != "" && !slices.Equal(warned, []string{want}) {
				t.Errorf("%q, want %q", warned, want)
			}
		})
	}
}

// FuzzFile has no file make the program panic.
func FuzzFile(f *testing.F) {
	for _, text := range []string{"window = \"1ms\"\n[live]\nof = [\"src\"]\n", "[[live]]\n", "live.window = 1\n", "\x00", "[live]\n[live]\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file := filepath.Join(t.TempDir(), "s.toml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := execute(t, "live", "--config", file); err != nil && !errors.Is(err, errFile) {
			t.Errorf("%v", err)
		}
	})
}
