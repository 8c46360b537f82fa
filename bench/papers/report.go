// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
)

// report collects the tables that were made, and keeps the others of an earlier report.
type report struct {
	args   []string
	commit string // of the code
	full   bool
	made   []result.Table
	all    []result.Experiment // whose tables a report may keep
}

// write writes the files that were asked for, and the report to standard output
// unless it goes to a file.
func (r *report) write(o options) error {
	if len(r.made) == 0 {
		return nil
	}
	return errors.Join(r.writeCharts(o.charts), r.writeMarkdown(o))
}

// writeMarkdown writes the report. It keeps tables of an earlier report in the same file
// that were not requested now.
func (r *report) writeMarkdown(o options) error {
	if o.markdown == "" {
		_, err := os.Stdout.WriteString(r.markdown(o.charts, ""))
		return err
	}
	folder, err := linkTo(o.charts, filepath.Dir(o.markdown))
	if err != nil {
		return err
	}
	earlier := ""
	if len(o.only) > 0 {
		text, err := os.ReadFile(o.markdown)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		earlier = string(text)
	}
	return writeFile(o.markdown, []byte(r.markdown(folder, earlier)))
}

// check compares the tables, and their charts if there is a folder, with the report's
// file, and returns the differences. Times are not compared.
func (r *report) check(o options) error {
	text, err := os.ReadFile(o.check)
	if err != nil {
		return err
	}
	folder, err := linkTo(o.charts, filepath.Dir(o.check))
	if err != nil {
		return err
	}
	var differ []error
	for _, t := range r.made {
		if t.Timed {
			continue
		}
		if made := t.Markdown(folder); !strings.Contains(string(text)+"\n", made) {
			differ = append(differ, fmt.Errorf("%s: %s differs; the first new line: %s", o.check, t.Name, firstNew(made, string(text))))
		}
		if o.charts != "" {
			differ = append(differ, eachChart(o.charts, t, checkFile))
		}
	}
	return errors.Join(differ...)
}

// eachChart passes the files of a table's charts, and their contents, to each.
func eachChart(folder string, t result.Table, each func(name string, svg []byte) error) error {
	var failed []error
	for _, p := range t.Charts {
		var svg bytes.Buffer
		err := p.Chart.SVG(&svg)
		if err == nil {
			err = each(filepath.Join(folder, p.File+".svg"), svg.Bytes())
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

func checkFile(name string, made []byte) error {
	text, err := os.ReadFile(name)
	if err == nil && !bytes.Equal(text, made) {
		err = fmt.Errorf("%s differs", name)
	}
	return err
}

func writeFile(name string, made []byte) error { return os.WriteFile(name, made, 0o644) }

// firstNew returns the first line of a table that a text does not have.
func firstNew(made, text string) string {
	for line := range strings.Lines(made) {
		if !strings.Contains(text, line) {
			return strings.TrimSpace(line)
		}
	}
	return "none: lines are missing or in another order"
}

// linkTo returns the folder of the charts as seen from the report's folder.
func linkTo(charts, from string) (string, error) {
	if charts == "" {
		return "", nil
	}
	relative, err := filepath.Rel(from, charts)
	return filepath.ToSlash(relative), err
}

func (r *report) writeCharts(folder string) error {
	if folder == "" {
		return nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, t := range r.made {
		if err := eachChart(folder, t, writeFile); err != nil {
			return err
		}
	}
	return nil
}

// markdown returns the report, with the tables of an earlier one that belong to one of the
// experiments and were not made now.
func (r *report) markdown(charts, earlier string) string {
	rows, sections := kept(earlier)
	for _, t := range r.made {
		rows[t.Name], sections[t.Name] = r.row(t), t.Markdown(charts)
	}
	size, took := "scaled sizes", [2]string{}
	if r.full {
		size, took = "the printed sizes", [2]string{" seconds |", "---|"}
	}
	var overview, body strings.Builder
	fmt.Fprintf(&overview, "| table | what | printed numbers | code |%s\n|---|---|---|---|%s\n", took[0], took[1])
	for _, e := range r.all {
		title := fmt.Sprintf("## %s: %s\n\n", e.Paper, e.Title)
		for _, name := range e.Tables {
			if sections[name] != "" {
				overview.WriteString(rows[name])
				body.WriteString(title + sections[name])
				title = ""
			}
		}
	}
	text := fmt.Sprintf("# The papers' tables and figures, reproduced at %s\n\n    go -C bench/papers run . %s\n\n", size, r.command()) +
		"Numbers are \"printed → ours (relative difference)\", or ours alone. Code is the commit that made a table.\n\n" +
		overview.String() + "\n" + body.String()
	return strings.TrimRight(text, "\n") + "\n"
}

// command returns the flags, without the ones that choose tables: others may be kept.
func (r *report) command() string {
	args := slices.Clone(r.args)
	if at := slices.Index(args, "-only"); at >= 0 && at+1 < len(args) {
		args = slices.Delete(args, at, at+2)
	}
	return strings.Join(args, " ")
}

// row returns the row of the overview. The time of a table is shown only at printed
// sizes, since each run takes another time.
func (r *report) row(t result.Table) string {
	summary := cmp.Or(strings.TrimSuffix(t.Summary(), "."), "none")
	if t.Timed {
		summary = "times of the machine: not compared"
	}
	row := fmt.Sprintf("| %s | %s | %s | %s |", t.Name, t.Title, summary, r.commit)
	if r.full {
		row += fmt.Sprintf(" %.0f |", t.Seconds)
	}
	return row + "\n"
}

var overviewRow = regexp.MustCompile(`(?m)^\| (\w+\.\w+) \|.*\n`)

// kept returns the rows of a report's overview and its sections, by table.
func kept(text string) (rows, sections map[string]string) {
	rows, sections = map[string]string{}, map[string]string{}
	overview, _, _ := strings.Cut(text, "\n## ")
	for _, m := range overviewRow.FindAllStringSubmatch(overview, -1) {
		rows[m[1]] = m[0]
	}
	for _, section := range result.Sections(text) {
		sections[result.SectionName(section)] = section
	}
	return rows, sections
}

// madeFrom are the folders whose code makes the tables.
var madeFrom = []string{":/asm", ":/layout", ":/engine", ":/bench/zipf", ":/bench/papers", ":/go.mod",
	":(top,exclude)bench/papers/*.md", ":(top,exclude)bench/papers/charts"}

// commit names the latest commit that changed the code which makes the tables.
func commit() string {
	git := func(args ...string) string {
		c := exec.Command("git", append(append(args, "--"), madeFrom...)...)
		out, _ := c.Output()
		return strings.TrimSpace(string(out))
	}
	hash := git("log", "-1", "--format=%h", "--abbrev=10")
	switch {
	case hash == "":
		return "unknown"
	case git("status", "--porcelain", "--untracked-files=no") != "":
		return hash + " and changes to it"
	}
	return hash
}
