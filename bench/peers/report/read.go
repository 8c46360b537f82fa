// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"
)

// benchmark is one benchmark with all its runs.
type benchmark struct {
	pkg    string // the package's folder, such as asm/line
	base   string // the name up to the first slash
	parts  []part // the rest of the name
	values map[string][]float64
	config func(key string) string // the file's settings above its first run
}

// module begins the paths of all packages.
const module = "github.com/flowdedup/flowdedup/"

// part is a part of a name, key=value.
type part struct{ key, value string }

// runs is the content of the files.
type runs struct {
	all []*benchmark // in order of their first appearance
}

// readRuns reads files of benchmark results. It is an error if a line cannot be
// read, or if there is no result.
func readRuns(paths []string) (*runs, error) {
	files := benchfmt.Files{Paths: paths}
	r, known := &runs{}, map[string]*benchmark{}
	for files.Scan() {
		switch record := files.Result().(type) {
		case *benchfmt.SyntaxError:
			return nil, record
		case *benchfmt.Result:
			r.add(record, known)
		}
	}
	if err := files.Err(); err != nil {
		return nil, err
	}
	if len(r.all) == 0 {
		return nil, errors.New("no results in the files that were given")
	}
	return r, nil
}

// add adds a result to the benchmark of its name.
func (r *runs) add(record *benchfmt.Result, known map[string]*benchmark) {
	pkg := strings.TrimPrefix(record.GetConfig("pkg"), module)
	id := pkg + " " + record.Name.String()
	b := known[id]
	if b == nil {
		base, parts := record.Name.Parts()
		b = &benchmark{pkg: pkg, base: string(base), values: map[string][]float64{}, config: record.Clone().GetConfig}
		for _, p := range parts {
			if text, ok := strings.CutPrefix(string(p), "/"); ok { // not the number of threads
				key, value, _ := strings.Cut(text, "=")
				b.parts = append(b.parts, part{key, value})
			}
		}
		known[id] = b
		r.all = append(r.all, b)
	}
	for _, v := range record.Values {
		unit, value := v.Unit, v.Value
		if v.OrigUnit != "" {
			unit, value = v.OrigUnit, v.OrigValue
		}
		b.values[unit] = append(b.values[unit], value)
	}
}

// median returns the median of a unit's values, and whether there are any.
func (b *benchmark) median(unit string) (float64, bool) {
	if len(b.values[unit]) == 0 {
		return 0, false
	}
	return middle(b.values[unit]), true
}

// middle returns the median.
func middle(values []float64) float64 {
	sample := benchmath.NewSample(values, &benchmath.DefaultThresholds)
	return benchmath.AssumeNothing.Summary(sample, 0.95).Center
}

// below returns the folder below top of the benchmark's package, and whether it lies there.
func (b *benchmark) below(top string) (folder string, ok bool) {
	return strings.CutPrefix(b.pkg, top+"/")
}

// get returns the value of a part of the name, or "".
func (b *benchmark) get(key string) string {
	for _, p := range b.parts {
		if p.key == key {
			return p.value
		}
	}
	return ""
}

// label returns the name without the parts that are left out.
func (b *benchmark) label(base string, leftOut ...string) string {
	words := []string{}
	if base != "" {
		words = append(words, base)
	}
next:
	for _, p := range b.parts {
		for _, key := range leftOut {
			if p.key == key {
				continue next
			}
		}
		switch {
		case p.value == "":
			words = append(words, p.key)
		case p.key == "memory":
			words = append(words, sizeName(p.value))
		default:
			words = append(words, p.key+"="+p.value)
		}
	}
	return strings.Join(words, " ")
}

// sizeName writes a size in KiB or in whole MiB. Other texts stay as they are.
func sizeName(value string) string {
	kib, err := strconv.Atoi(strings.TrimSuffix(value, "KiB"))
	switch {
	case err != nil:
		return value
	case kib%1024 != 0:
		return fmt.Sprintf("%d KiB", kib)
	default:
		return fmt.Sprintf("%d MiB", kib/1024)
	}
}
