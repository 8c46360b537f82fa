// SPDX-License-Identifier: Apache-2.0

// Command man renders the manual and the help of the commands as man pages: section 1 from the
// flags and texts of the command line, section 7 from the manual's pages for users.
//
//	go run ./cmd/flowdedup/doc/man FOLDER
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/doc/man/roff"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/commands"
)

// manual is the folder of the pages, relative to the top of the repository.
const manual = "cmd/flowdedup/doc"

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./cmd/flowdedup/doc/man FOLDER")
		os.Exit(2)
	}
	if err := write(os.Args[1], manual); err != nil {
		fmt.Fprintln(os.Stderr, "man:", err)
		os.Exit(1)
	}
}

// write writes all pages into a folder, which it creates.
func write(folder, manual string) error {
	pages, err := manualPages(manual)
	if err != nil {
		return err
	}
	pages = append(commandPages(), pages...)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	for _, p := range pages {
		p.Body += "\n## See also\n\n" + references(pages, p)
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%s.%d", p.Name, p.Section)), p.Render(), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// references names the pages except p.
func references(pages []*roff.Page, p *roff.Page) string {
	var names []string
	for _, other := range pages {
		if other != p {
			names = append(names, fmt.Sprintf("`%s`(%d)", other.Name, other.Section))
		}
	}
	return strings.Join(names, ", ")
}

// allCommands returns the root command and the commands on packets.
func allCommands() []*cobra.Command {
	root := commands.Root()
	all := []*cobra.Command{root}
	for _, c := range root.Commands() {
		if c.LocalNonPersistentFlags().HasAvailableFlags() {
			all = append(all, c)
		}
	}
	return all
}

// commandPages returns the pages of the commands.
func commandPages() (pages []*roff.Page) {
	for _, c := range allCommands() {
		body := roff.Command(c, cli.Groups(), func(sub *cobra.Command) string { return roff.Term("`"+sub.Name()+"`", sub.Short) })
		pages = append(pages, &roff.Page{Name: strings.ReplaceAll(c.CommandPath(), " ", "-"), Section: 1, Summary: c.Short, Body: body})
	}
	return pages
}

// entry is a page in the table of contents of the manual.
var entry = regexp.MustCompile(`(?m)^- \[([\w-]+)\.md\]\([\w-]+\.md\): (.*?)\.?$`)

// manualPages returns the pages in the table of contents, up to those for developers.
func manualPages(manual string) (pages []*roff.Page, err error) {
	contents, err := os.ReadFile(filepath.Join(manual, "README.md"))
	if err != nil {
		return nil, err
	}
	users, _, found := strings.Cut(string(contents), "For developers:")
	entries := entry.FindAllStringSubmatch(users, -1)
	if !found || len(entries) != strings.Count(users, "\n- ") {
		return nil, fmt.Errorf("%s/README.md: each page for users is a line before the pages for developers", manual)
	}
	link := func(target string) string {
		file, _, _ := strings.Cut(target, "#")
		for _, e := range entries {
			if file == e[1]+".md" {
				return "flowdedup-" + e[1]
			}
		}
		return ""
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(manual, e[1]+".md"))
		if err != nil {
			return nil, err
		}
		_, body, _ := strings.Cut(string(text), "\n") // the title is NAME
		pages = append(pages, &roff.Page{Name: "flowdedup-" + e[1], Section: 7, Summary: e[2], Body: "## Description\n" + body, Link: link})
	}
	return pages, nil
}
