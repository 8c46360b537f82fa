// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/flowdedup/flowdedup/engine/distinct/top"
	"github.com/flowdedup/flowdedup/engine/distinct/windows"
)

// TopFlags define rankings of the elements that are counted.
type TopFlags struct {
	n  int
	by string
}

// mostTop is the longest ranking.
const mostTop = 1000

// topBy are the names of what rankings are by.
var topBy = []string{top.Packets: "packets", top.Bytes: "bytes"}

// Flags returns the flags. of says what has rankings, not which flags have none, as Flag.Not does.
func (f *TopFlags) Flags(of string, needs []string, not ...string) []Flag {
	return []Flag{
		{Name: "top", Group: GroupCount, To: NewParsed(&f.n, "", "N", parseTop), Words: []string{"10"}, Needs: needs, Not: not, Help: "also print the `N` elements with the most packets, of " + of},
		{Name: "top-by", Group: GroupCount, To: NewParsed(&f.by, topBy[top.Packets], "what", OneOf(topBy...)), Words: topBy, Needs: []string{"top"}, Help: "what --top ranks by: packets, bytes"},
	}
}

// Given reports whether rankings are wanted.
func (f *TopFlags) Given() bool { return f.n > 0 }

// Complete adds the rankings to what is counted.
func (f *TopFlags) Complete(cfg *windows.Config) {
	cfg.Top, cfg.TopBy = f.n, top.By(slices.Index(topBy, f.by))
}

func parseTop(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > mostTop {
		return 0, fmt.Errorf("must be from 1 to %d", mostTop)
	}
	return n, nil
}
