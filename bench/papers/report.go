package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
)

// report collects the tables that were made.
type report struct {
	args     []string
	commit   string // of the code
	full     bool
	sections []section
}

// section holds the tables of one experiment.
type section struct {
	title  string
	tables []result.Table
}

func (r *report) add(e result.Experiment, t result.Table) {
	title := e.Paper + ": " + e.Title
	if n := len(r.sections); n == 0 || r.sections[n-1].title != title {
		r.sections = append(r.sections, section{title: title})
	}
	last := &r.sections[len(r.sections)-1]
	last.tables = append(last.tables, t)
}

func (r *report) tables() []result.Table {
	var all []result.Table
	for _, s := range r.sections {
		all = append(all, s.tables...)
	}
	return all
}

// write writes the files that were asked for, and the report to standard output
// unless it goes to a file.
func (r *report) write(o options) error {
	if len(r.sections) == 0 {
		return nil
	}
	return errors.Join(r.writeCharts(o.charts), r.writeJSON(o.json), r.writeMarkdown(o))
}

func (r *report) writeMarkdown(o options) error {
	if o.markdown == "" {
		_, err := os.Stdout.WriteString(r.markdown(o.charts))
		return err
	}
	folder, err := linkTo(o.charts, filepath.Dir(o.markdown))
	if err != nil {
		return err
	}
	return os.WriteFile(o.markdown, []byte(r.markdown(folder)), 0o644)
}

// check compares the tables, and their charts if there is a folder, with what the report's
// file holds, and says where they differ. Times are not compared.
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
	for _, t := range r.tables() {
		if t.Timed {
			continue
		}
		if made := t.Markdown(folder); !strings.Contains(string(text)+"\n", made) {
			differ = append(differ, fmt.Errorf("%s: %s differs; the first new line: %s", o.check, t.Name, firstNew(made, string(text))))
		}
		if o.charts == "" {
			continue
		}
		for _, p := range t.Charts {
			differ = append(differ, checkChart(filepath.Join(o.charts, p.File+".svg"), p))
		}
	}
	return errors.Join(differ...)
}

func checkChart(name string, p result.Picture) error {
	var made bytes.Buffer
	if err := p.Chart.SVG(&made); err != nil {
		return err
	}
	text, err := os.ReadFile(name)
	if err == nil && !bytes.Equal(text, made.Bytes()) {
		err = fmt.Errorf("%s differs", name)
	}
	return err
}

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

func (r *report) writeJSON(name string) error {
	if name == "" {
		return nil
	}
	var out bytes.Buffer
	if err := result.WriteJSON(&out, r.tables()); err != nil {
		return err
	}
	return os.WriteFile(name, out.Bytes(), 0o644)
}

func (r *report) writeCharts(folder string) error {
	if folder == "" {
		return nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, t := range r.tables() {
		for _, p := range t.Charts {
			var out bytes.Buffer
			if err := p.Chart.SVG(&out); err != nil {
				return fmt.Errorf("%s: %w", t.Name, err)
			}
			if err := os.WriteFile(filepath.Join(folder, p.File+".svg"), out.Bytes(), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *report) markdown(charts string) string {
	var b strings.Builder
	size := "scaled sizes"
	if r.full {
		size = "the printed sizes"
	}
	fmt.Fprintf(&b, "# The papers' tables and figures, reproduced at %s\n\n", size)
	fmt.Fprintf(&b, "    go run ./bench/papers %s\n\n", strings.Join(r.args, " "))
	fmt.Fprintf(&b, "Made by the code of commit %s. ", r.commit)
	b.WriteString("Numbers are \"printed → ours (relative difference)\", or ours alone.\n\n")
	b.WriteString(r.overview())
	for _, s := range r.sections {
		fmt.Fprintf(&b, "## %s\n\n", s.title)
		for _, t := range s.tables {
			b.WriteString(t.Markdown(charts))
		}
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// overview lists the tables with their distance from the printed numbers. What they took
// is told at printed sizes only, since it is another in each run.
func (r *report) overview() string {
	var b strings.Builder
	took := [2]string{}
	if r.full {
		took = [2]string{" seconds |", "---|"}
	}
	fmt.Fprintf(&b, "| table | what | printed numbers |%s\n|---|---|---|%s\n", took[0], took[1])
	for _, t := range r.tables() {
		summary := strings.TrimSuffix(t.Summary(), ".")
		switch {
		case summary == "":
			summary = "none"
		case t.Timed:
			summary = "times of the machine: not compared"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |", t.Name, t.Title, summary)
		if r.full {
			fmt.Fprintf(&b, " %.0f |", t.Seconds)
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
	return b.String()
}

// madeFrom are the folders whose code makes the tables.
var madeFrom = []string{":/asm", ":/layout", ":/engine", ":/bench/chart", ":/bench/zipf", ":/bench/papers", ":/go.mod",
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
