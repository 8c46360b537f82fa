// SPDX-License-Identifier: Apache-2.0

package clitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/commands"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/inspect"
)

// Cleaned runs dedup with a key, which writes what it keeps to out and the rest to removed. Other workers and
// batches write the same, and verify, by its own code, finds both files right. Flags that only dedup or
// only verify has are given to that command.
func Cleaned(t *testing.T, out, removed string, inputs, flags []string) (s dedup.Summary) {
	t.Helper()
	var first [2][]byte
	for seed := range uint64(3) {
		args := slices.Concat([]string{"dedup", "--json", "-w", out, "--duplicates", removed, "--workers", strconv.Itoa(1 + int(seed)), "--key", Key}, inputs, known("dedup", flags))
		text, errs, code := RunCut(seed, args...)
		if code != cli.ExitDone {
			t.Fatalf("%q: exit code %d: %s", args, code, errs)
		}
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			t.Fatal(err)
		}
		written := [2][]byte{ReadFile(t, out), ReadFile(t, removed)}
		if seed == 0 {
			first = written
		}
		if !bytes.Equal(written[0], first[0]) || !bytes.Equal(written[1], first[1]) {
			t.Errorf("%q: %d workers and other batches write other files", args, 1+seed)
		}
	}
	args := slices.Concat([]string{"verify"}, known("verify", flags), inputs, []string{"--", out, removed})
	if text, errs, code := Run(args...); code != cli.ExitDone {
		t.Errorf("%q: exit code %d: %s%s", args, code, text, errs)
	}
	return s
}

// known returns the flags that a command has, with their values. verify has no --prefer but "first".
func known(command string, flags []string) (out []string) {
	cmd, _, _ := commands.Root().Find([]string{command})
	for i := 0; i < len(flags); i++ {
		words := flags[i : i+1]
		name, _, valued := strings.Cut(strings.TrimPrefix(flags[i], "--"), "=")
		flag := cmd.Flags().Lookup(name)
		if flag == nil {
			other := map[string]string{"dedup": "verify", "verify": "dedup"}[command]
			cmd, _, _ := commands.Root().Find([]string{other})
			if of := cmd.Flags().Lookup(name); of != nil && of.NoOptDefVal == "" && !valued {
				i++
			}
			continue
		}
		if flag.NoOptDefVal == "" && !valued {
			i++
			words = flags[i-1 : i+1]
		}
		if command == "dedup" || name != "prefer" || words[1] == "first" {
			out = append(out, words...)
		}
	}
	return out
}

// removes runs dedup and verify.
func removes(ts *testscript.TestScript, args []string) {
	at := slices.IndexFunc(args, func(word string) bool { return strings.HasPrefix(word, "--") })
	if at < 0 {
		at = len(args)
	}
	ending := filepath.Ext(strings.TrimSuffix(args[1], ".gz"))
	inScript(ts, func() string {
		s := Cleaned(testOf(ts), "out"+ending, "removed"+ending, args[1:at], args[at:])
		if want, err := strconv.ParseUint(args[0], 10, 64); err == nil && s.Duplicates != want || args[0] == "some" && s.Duplicates == 0 {
			ts.Fatalf("%d packets are removed", s.Duplicates)
		}
		text, err := json.Marshal(&s)
		ts.Check(err)
		return string(text)
	})
}

// follows runs inspect, and the command that it recommends.
func follows(ts *testscript.TestScript, args []string) {
	gives(ts, slices.Concat([]string{"0", args[0], "inspect"}, args[1:]))
	var s inspect.Summary
	text := fmt.Sprint(ts.Stdout())
	ts.Check(json.Unmarshal([]byte(text), &s))
	inScript(ts, func() string {
		Follow(testOf(ts), &s)
		return text
	})
}

// Follow runs what inspect recommends, which removes as many packets as inspect says, and returns the output.
func Follow(t *testing.T, s *inspect.Summary) (out string) {
	t.Helper()
	words := shellWords(s.Recommendation.Command)
	if len(words) < 2 || words[0] != "flowdedup" || words[1] != "dedup" {
		t.Fatalf("command %q", s.Recommendation.Command)
	}
	out = filepath.Join(t.TempDir(), "clean.pcapng")
	words[slices.Index(words, "-w")+1] = out
	if got := RunDedup(t, cli.ExitDone, words[2:]...).Duplicates; got != s.Recommendation.Removes {
		t.Errorf("%s removes %d packets, not %d", s.Recommendation.Command, got, s.Recommendation.Removes)
	}
	return out
}

// Checked runs what inspect recommends, and then what checks its output, which must be right.
func Checked(t *testing.T, s *inspect.Summary) {
	t.Helper()
	check := shellWords(s.Recommendation.Check)
	check[len(check)-1] = Follow(t, s)
	if said, errs, code := Run(check[1:]...); code != cli.ExitDone {
		t.Errorf("%s: exit code %d: %s%s", s.Recommendation.Check, code, said, errs)
	}
}

// shellWords splits a line as a shell does that knows single quotes and backslashes.
func shellWords(line string) (words []string) {
	quoted, escaped, inWord := false, false, false
	for _, c := range line {
		if c == ' ' && !quoted && !escaped {
			inWord = false
			continue
		}
		if !inWord {
			words, inWord = append(words, ""), true
		}
		switch {
		case c == '\'' && !escaped:
			quoted = !quoted
		case c == '\\' && !quoted && !escaped:
			escaped = true
		default:
			words[len(words)-1] += string(c)
			escaped = false
		}
	}
	return words
}
