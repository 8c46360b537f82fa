package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
)

// report collects the tables that were made.
type report struct {
	args     []string
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

// overview lists the tables with their distance from the printed numbers.
func (r *report) overview() string {
	var b strings.Builder
	b.WriteString("| table | what | printed numbers | seconds |\n|---|---|---|---|\n")
	for _, t := range r.tables() {
		summary := strings.TrimSuffix(t.Summary(), ".")
		if summary == "" {
			summary = "none"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %.1f |\n", t.Name, t.Title, summary, t.Seconds)
	}
	b.WriteString("\n")
	return b.String()
}
