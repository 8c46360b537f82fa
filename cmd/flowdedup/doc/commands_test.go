// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/commands"
)

// TestCommands parses every line of the manual that runs flowdedup: its command and its
// flags exist, and take these values.
func TestCommands(t *testing.T) {
	pages, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range append(pages, root+"/README.md") {
		for line := range strings.Lines(read(t, page)) {
			code, ok := strings.CutPrefix(line, "    ")
			if !ok {
				continue
			}
			for _, words := range commandsOf(strings.ReplaceAll(code, "$KEY", exampleKey)) {
				found++
				if err := parse(words); err != nil {
					t.Errorf("%s: %s: %v", page, strings.TrimSpace(code), err)
				}
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d lines run flowdedup", found)
	}
}

// exampleKey is the value of the variable KEY of the manual.
var exampleKey = strings.Repeat("5a", 32)

// parse reads a command line, and runs nothing.
func parse(words []string) error {
	command, rest, err := commands.Root().Find(words)
	if err != nil {
		return err
	}
	if err := command.ParseFlags(rest); err != nil {
		return err
	}
	return command.ValidateArgs(command.Flags().Args())
}

// commandsOf returns the arguments of each run of flowdedup in a line of a shell.
func commandsOf(line string) (all [][]string) {
	for _, words := range simpleCommands(line) {
		if len(words) > 0 && words[0] == "sudo" {
			words = words[1:]
		}
		if len(words) > 1 && filepath.Base(words[0]) == "flowdedup" {
			all = append(all, words[1:])
		}
	}
	return all
}

// simpleCommands splits a line into commands, and these into words. It knows quotes,
// comments, and what stands between commands; all of a redirection belongs to the next
// command.
func simpleCommands(line string) [][]string {
	all, quote, inWord := [][]string{nil}, rune(0), false
	for _, c := range line {
		words := &all[len(all)-1]
		switch {
		case c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
			if !inWord {
				*words, inWord = append(*words, ""), true
			}
		case quote == 0 && strings.ContainsRune(" \t\n", c):
			inWord = false
		case quote == 0 && c == '#' && !inWord:
			return all
		case quote == 0 && strings.ContainsRune("|&;<>", c):
			all, inWord = append(all, nil), false
		default:
			if !inWord {
				*words, inWord = append(*words, ""), true
			}
			(*words)[len(*words)-1] += string(c)
		}
	}
	return all
}

func TestSimpleCommands(t *testing.T) {
	for line, want := range map[string][][]string{
		"":                                   nil,
		"flowdedup dedup a.pcap  # remove":   {{"dedup", "a.pcap"}},
		"zcat a | flowdedup dedup - -w - |z": {{"dedup", "-", "-w", "-"}},
		"sudo ./flowdedup live 'a b' && flowdedup plan > x": {{"live", "a b"}, {"plan"}},
		`flowdedup dedup --filter "it's" ''`:                {{"dedup", "--filter", "it's", ""}},
		"install flowdedup /usr/local/bin":                  nil,
	} {
		if got := commandsOf(line); !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
