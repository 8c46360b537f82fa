// SPDX-License-Identifier: Apache-2.0

// Command report turns the output of this project's benchmarks into the tables of
// bench/RESULTS.md:
//
//	go run ./report -o ../RESULTS.md -charts ../charts FILE...
//
// The files are the outputs of `go test -bench`, bench/pipeline and bench/live, of one
// machine. Benchmarks that occur several times are shown with their median. The page has
// three parts, whole commands, live and parts; a part without results in the files stays
// as it was. Before them comes the contest, which bench/contest writes.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	out := flag.String("o", "", "write to this file instead of standard output")
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
	if err := writeChart(runs, charts); err != nil {
		return err
	}
	if out == "" {
		_, err = os.Stdout.WriteString(page(runs, ""))
		return err
	}
	old, err := os.ReadFile(out)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.WriteFile(out, []byte(page(runs, string(old))), 0o666)
}

// title begins the page, with the answers that users look for first.
const title = `# Speed

What is right comes first: a contest of programs that remove copies. Then come whole commands,
beside other tools, and receivers of live traffic. What they are made of is folded at the end.
[README.md](README.md) says how the figures are made.
`

// contestHeading begins the part that bench/contest writes into the page.
const contestHeading = "\n## Contest\n"

// page returns all parts, each as measured or else as in the old page.
func page(r *runs, old string) string {
	old, kernels := cutBefore(old, kernelsHeading)
	old, live := cutBefore(old, liveHeading)
	old, pipeline := cutBefore(old, pipelineHeading)
	_, contest := cutBefore(old, contestHeading)
	return title + contest + cmp.Or(r.pipeline(), pipeline) + cmp.Or(r.live(), live) + cmp.Or(r.kernels(), kernels)
}

// cutBefore divides a page where a part begins.
func cutBefore(page, heading string) (before, part string) {
	if at := strings.Index(page, heading); at >= 0 {
		return page[:at], page[at:]
	}
	return page, ""
}

func writeChart(r *runs, folder string) error {
	svg, err := r.inputsSVG()
	if err != nil || svg == "" || folder == "" {
		return err
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, inputsChart), []byte(svg), 0o666)
}
