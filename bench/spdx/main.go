// SPDX-License-Identifier: Apache-2.0

// Command spdx writes the line of the licence (SPDX-License-Identifier) into each source file
// of a clone that lacks it: first in the file, or below the line that names the interpreter.
// With -check it changes nothing, and fails if a line is missing or another.
//
//	go run ./bench/spdx [-check] [FOLDER]
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	check := flag.Bool("check", false, "change nothing, and fail if a line is missing")
	flag.Parse()
	folder := "."
	if flag.NArg() > 0 {
		folder = flag.Arg(0)
	}
	changed, err := run(folder, !*check)
	for _, name := range changed {
		fmt.Println(name)
	}
	if err == nil && *check && len(changed) > 0 {
		err = fmt.Errorf("%d files lack the line: go run ./bench/spdx writes it", len(changed))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "spdx:", err)
		os.Exit(1)
	}
}

// licence is the project's licence, and exceptions are files with another one.
const licence = "Apache-2.0"

var exceptions = map[string]string{"capture/xdp/instructions_linux.go": "BSD-2-Clause OR GPL-2.0-only"}

// mark begins the line, behind the characters that begin a comment.
const mark = "SPDX-License-Identifier: "

// run returns the files of a clone that lack the line, by their paths in it, and if
// requested writes the line into them. A line with another licence than it should be is
// an error.
func run(folder string, write bool) (changed []string, err error) {
	// New files that are not ignored belong to the clone, too.
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir, list.Stderr = folder, os.Stderr
	names, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(names), "\x00"), "\x00") {
		path := filepath.Join(folder, filepath.FromSlash(name))
		info, err := os.Lstat(path)
		if os.IsNotExist(err) {
			continue // removed, and not committed yet
		}
		if err != nil {
			return changed, err
		}
		if !info.Mode().IsRegular() || left(name) {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return changed, err
		}
		marked, err := withLine(name, text)
		if err != nil {
			return changed, fmt.Errorf("%s: %w", name, err)
		}
		if bytes.Equal(marked, text) {
			continue
		}
		changed = append(changed, name)
		if !write {
			continue
		}
		if err := os.WriteFile(path, marked, info.Mode().Perm()); err != nil {
			return changed, err
		}
	}
	return changed, nil
}

// folders are left alone: templates, whose comments would be part of the files made from
// them, these files, and inputs of fuzz tests.
var folders = []string{"cmd/flowdedup/contrib/recipes/", "cmd/flowdedup/contrib/kubernetes/flowdedup/", "cmd/flowdedup/contrib/kubernetes/manifests/"}

// left reports whether a file is left alone.
func left(name string) bool {
	return strings.Contains(name, "testdata/fuzz/") || slices.ContainsFunc(folders, func(folder string) bool { return strings.HasPrefix(name, folder) })
}

// comments are the characters that begin a comment, by the ending of a file or its whole
// name. Styles (CSS) are not among them: they become part of the pages that the programs
// write.
var comments = map[string]string{
	".go": "// ", ".s": "// ", ".h": "// ", ".c": "// ",
	".sh": "# ", ".py": "# ", ".service": "# ", ".yml": "# ", "Makefile": "# ",
}

// withLine returns the text of a file with the line. Files that are no sources stay as they are.
func withLine(name string, text []byte) ([]byte, error) {
	comment := comments[filepath.Ext(name)]
	if comment == "" {
		comment = comments[filepath.Base(name)]
	}
	var interpreter []byte
	if bytes.HasPrefix(text, []byte("#!")) {
		comment = "# "
		first, rest, _ := bytes.Cut(text, []byte("\n"))
		interpreter, text = append(bytes.Clone(first), '\n'), rest
	}
	if comment == "" {
		return text, nil
	}
	want := licence
	if other := exceptions[name]; other != "" {
		want = other
	}
	if first, _, _ := bytes.Cut(text, []byte("\n")); bytes.Contains(first, []byte(mark)) {
		if got := string(bytes.TrimRight(first, "\r")); got != comment+mark+want {
			return nil, fmt.Errorf("its line is %q, want %q", got, comment+mark+want)
		}
		return slices.Concat(interpreter, text), nil
	}
	line := comment + mark + want + "\n"
	if comment == "// " {
		line += "\n" // the next lines may be the comment of the package
	}
	return slices.Concat(interpreter, []byte(line), text), nil
}
