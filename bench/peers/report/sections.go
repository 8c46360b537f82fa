// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// title begins the page.
const title = `# Speed

What is right comes first: a contest of programs that remove copies. Then come processors, the
one with the newest results first, then [options](#options) and [flow records](#flow-records). [README.md](README.md) says how the figures are made.
`

// contestHeading begins the section that bench/contest writes into the page.
const contestHeading = "\n## Contest\n"

// heading begins each section.
const heading = "\n## "

// errRuns is wrapped by errors about results that are not of one run.
var errRuns = errors.New("not one run of `make bench SUITE=all`")

// origin is where and when results were made.
type origin struct{ cpu, commit, date, system, threads, kernel string }

// origin returns what all results have in common. It is an error if they come from several
// runs, or do not name theirs.
func (r *runs) origin() (origin, error) {
	var first origin
	for i, b := range r.all {
		m := origin{b.config("cpu-model"), b.config("commit"), b.config("date"), b.config("system"), b.config("threads"), b.config("kernel")}
		if m.cpu == "" || m.commit == "" || m.date == "" {
			return m, fmt.Errorf("%w: %s %s has no cpu-model, commit or date", errRuns, b.pkg, b.base)
		}
		if i == 0 {
			first = m
		}
		if m != first {
			return m, fmt.Errorf("%w: %v and %v", errRuns, first, m)
		}
	}
	return first, nil
}

// notInNames are the characters that names of files and anchors do without.
var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// chart returns the file name of the CPU's chart of costs by the size of the input.
func (m *origin) chart() string {
	return "input-" + strings.Trim(notInNames.ReplaceAllString(strings.ToLower(m.cpu), "-"), "-") + ".svg"
}

// subjects are the sections that are not of a CPU. They come last, in this order, with the results of a
// suite of their own.
var subjects = []struct {
	name, suite string
	text        func(*runs) string
}{{"Options", "paths", (*runs).options}, {"Flow records", "flows", (*runs).flows}}

// page returns the old page with a section that is made anew: of a CPU, or of a subject.
func page(old string, m origin, r *runs) string {
	_, old, _ = strings.Cut(old, heading)
	sections, cpus := map[string]string{}, []string{m.cpu}
	for _, section := range strings.Split(old, heading) {
		name, text, _ := strings.Cut(strings.TrimSuffix(section, "\n")+"\n", "\n")
		if sections[name] = text; name != m.cpu && name != "" && heading+name+"\n" != contestHeading && !isSubject(name) {
			cpus = append(cpus, name)
		}
	}
	made := fmt.Sprintf("on %s from commit %s: %s, %s threads, kernel %s.\n", m.date, m.commit, m.system, m.threads, m.kernel)
	ofSubject := false
	for _, s := range subjects {
		if text := s.text(r); text != "" {
			ofSubject, sections[s.name] = true, fmt.Sprintf("\nMade by `make bench SUITE=%s` with %s, %s", s.suite, m.cpu, made)+text
		}
	}
	if !ofSubject {
		sections[m.cpu] = fmt.Sprintf("\nMade in one go by `make bench SUITE=all` %s", made) + r.parts(m.chart())
	} else if sections[m.cpu] == "" {
		cpus = cpus[1:]
	}
	all := title
	add := func(name string) {
		if text := sections[name]; text != "" {
			all += heading + name + "\n" + text
		}
	}
	add(strings.TrimSpace(strings.TrimPrefix(contestHeading, heading)))
	for _, name := range cpus {
		add(name)
	}
	for _, s := range subjects {
		add(s.name)
	}
	return all
}

func isSubject(name string) bool {
	for _, s := range subjects {
		if s.name == name {
			return true
		}
	}
	return false
}

// parts returns all parts of a section that have results. The chart is linked if it has a name.
func (r *runs) parts(chart string) string {
	return r.contest() + r.pipeline(chart) + r.live() + r.kernels() + r.options() + r.flows()
}
