// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
)

// claim is a claim about a table in RESULTS.md: the numbers in a column equal the numbers
// in another, or 1 if there is none, times low to high: in all rows that have both, whose
// name contains row. Where rows are named instead, they are compared column by column. If
// names come twice, the other is the next after the first.
type claim struct {
	row, column, other string
	low, high          float64
}

// claimsOf returns the claims of a section: lines of row, column, other, low and high
// behind a "=". The notes say the same, and closed forms hold it. Measured numbers are
// allowed a few standard deviations.
func claimsOf(section string) (claims []claim) {
	for line := range strings.Lines(section) {
		if fields := strings.Split(line, "|"); fields[0] == "= " {
			for i := range fields {
				fields[i] = strings.TrimSpace(fields[i])
			}
			bound := func(text string) float64 { return result.Must(strconv.ParseFloat(text, 64)) }
			claims = append(claims, claim{fields[1], fields[2], fields[3], bound(fields[4]), bound(fields[5])})
		}
	}
	return claims
}

// TestClaims checks the claims of the tables' texts.
func TestClaims(t *testing.T) {
	results, all := string(result.Must(os.ReadFile("RESULTS.md"))), 0
	for _, file := range result.Must(filepath.Glob("internal/*/text.md")) {
		for _, section := range result.Sections(string(result.Must(os.ReadFile(file)))) {
			name := result.SectionName(section)
			for _, c := range claimsOf(section) {
				pairs := c.pairs(result.Section(results, name))
				for _, pair := range pairs {
					if pair[0] < c.low*pair[1] || pair[0] > c.high*pair[1] {
						t.Errorf("%s: %q is %g times %q, which is %g", name, c.column, pair[0]/pair[1], c.other, pair[1])
					}
				}
				if len(pairs) == 0 {
					t.Errorf("%s: nothing is compared of %q and %q", name, c.column, c.other)
				}
				all++
			}
		}
	}
	if all == 0 {
		t.Error("no claims in the texts")
	}
}

// pairs returns the numbers to compare.
func (c claim) pairs(section string) (pairs [][2]float64) {
	var grid [][]string
	for line := range strings.Lines(section) {
		if strings.HasPrefix(line, "| ") {
			grid = append(grid, strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|"))
		}
	}
	named := func(of int, name string) bool { return strings.TrimSpace(grid[0][of]) == name }
	if !slices.ContainsFunc(grid[0], func(cell string) bool { return strings.TrimSpace(cell) == c.column }) {
		grid = transposed(grid)
	}
	for i := range grid[0] {
		if !named(i, c.column) {
			continue
		}
		other := i + 1
		for ; c.other != "" && !named(other%len(grid[0]), c.other); other++ {
		}
		for _, row := range grid[1:] {
			if !strings.Contains(row[0], c.row) {
				continue
			}
			a, known := number(row[i])
			b, both := 1., true
			if c.other != "" {
				b, both = number(row[other%len(row)])
			}
			if known && both {
				pairs = append(pairs, [2]float64{a, b})
			}
		}
	}
	return pairs
}

func transposed(grid [][]string) [][]string {
	all := make([][]string, len(grid[0]))
	for _, row := range grid {
		for j, cell := range row {
			all[j] = append(all[j], cell)
		}
	}
	return all
}

var ours = regexp.MustCompile(`(?:.*→ )?([0-9.]+(?:e[+-][0-9]+)?)`)

// number returns ours of a cell, if there is one.
func number(cell string) (value float64, known bool) {
	m := ours.FindStringSubmatch(cell)
	if m == nil {
		return 0, false
	}
	value, err := strconv.ParseFloat(m[1], 64)
	return value, err == nil
}
