// SPDX-License-Identifier: Apache-2.0

// Command report turns the output of this project's benchmarks into tables:
//
//	go run ./report FILE...                                prints the tables
//	go run ./report -o ../RESULTS.md -charts ../charts FILE  makes the CPU's section of the page
//
// Files are in the form of `go test -bench`. Benchmarks that occur several times are shown
// with their median. The page keeps one section for each CPU. Results replace the section of
// their CPU as a whole, and come before the others. So they must be of one run, which
// bench/bench.sh names in the file by CPU, commit and date. Before the CPUs comes the
// contest, which bench/contest writes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

func main() {
	out := flag.String("o", "", "replace the CPU's section of this page, instead of printing tables")
	charts := flag.String("charts", "", "write the chart to this folder")
	flag.Parse()
	if err := run(flag.Args(), *out, *charts); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run(paths []string, out, charts string) error {
	runs, err := readRuns(paths)
	if err != nil {
		return err
	}
	if out == "" {
		_, err = os.Stdout.WriteString(runs.parts(""))
		return err
	}
	m, err := runs.origin()
	if err != nil {
		return err
	}
	old, err := os.ReadFile(out)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := writeChart(runs, charts, m.chart()); err != nil {
		return err
	}
	return os.WriteFile(out, []byte(page(string(old), m, runs)), 0o666)
}

func writeChart(r *runs, folder, name string) error {
	svg, err := r.inputsSVG()
	if err != nil || svg == "" || folder == "" {
		return err
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, name), []byte(svg), 0o666)
}
