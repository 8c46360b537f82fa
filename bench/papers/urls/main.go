// SPDX-License-Identifier: Apache-2.0

// Command urls makes the columns of Tables 2, 4 and 5 of the quotient hash tables' paper (p3) that are
// of a web crawl, for any list of URLs, one in a line:
//
//	go -C bench/papers run ./urls < urls.txt
package main

import (
	"fmt"
	"os"

	"github.com/flowdedup/flowdedup/bench/papers/internal/quotient"
)

func main() {
	if err := quotient.Crawl(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "urls:", err)
		os.Exit(1)
	}
}
