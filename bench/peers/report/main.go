// Command report turns the output of this project's benchmarks into the tables of
// bench/RESULTS.md:
//
//	go run ./report -o ../RESULTS.md FILE...
//
// The files are what `go test -bench` writes, of one machine. Benchmarks that occur
// several times are shown with their median.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	out := flag.String("o", "", "write to this file instead of standard output")
	flag.Parse()
	if err := run(flag.Args(), *out); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run(paths []string, out string) error {
	runs, err := readRuns(paths)
	if err != nil {
		return err
	}
	page := runs.page()
	if out == "" {
		_, err = os.Stdout.WriteString(page)
		return err
	}
	return os.WriteFile(out, []byte(page), 0o666)
}
