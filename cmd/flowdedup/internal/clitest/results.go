// SPDX-License-Identifier: Apache-2.0

package clitest

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/compare"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/inspect"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
)

// RunCompare runs compare, and checks its exit code and that its counts add up.
func RunCompare(t *testing.T, code int, args ...string) (r compare.Summary, stderr string) {
	t.Helper()
	out, errs, got := Run(append([]string{"compare", "--json"}, args...)...)
	if got != code {
		t.Fatalf("compare %v: exit code %d, want %d: %s", args, got, code, errs)
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("compare %v: %v: %s", args, err, out)
	}
	if err := checkCompare(&r); err != nil {
		t.Errorf("compare %v: %v", args, err)
	}
	return r, errs
}

// checkCompare returns an error unless the counts add up.
func checkCompare(r *compare.Summary) error {
	if r.Same != (r.OnlyA+r.OnlyB == r.A.Outside+r.B.Outside && (r.Both > 0 || r.A.Packets+r.B.Packets == 0)) || r.Both+r.OnlyA != r.A.Packets || r.Both+r.OnlyB != r.B.Packets {
		return fmt.Errorf("counts that do not add up: %+v", r)
	}
	return nil
}

// RunInspect runs inspect, and checks its exit code and that its counts add up.
func RunInspect(t *testing.T, code int, args ...string) (r inspect.Summary) {
	t.Helper()
	out, errs, got := Run(append([]string{"inspect", "--json"}, args...)...)
	if got != code {
		t.Fatalf("inspect %v: exit code %d: %s", args, got, errs)
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("inspect %v: %v: %s", args, err, out)
	}
	if err := checkInspect(&r); err != nil {
		t.Errorf("inspect %v: %v", args, err)
	}
	return r
}

// checkInspect returns an error unless the counts add up.
func checkInspect(r *inspect.Summary) error {
	var sum uint64
	for _, c := range r.Matrix {
		sum += c.Count
		if d := c.Delay; d.P50 > d.P90 || d.P90 > d.P99 || d.P99 > d.P999 || d.P999 > d.Max {
			return fmt.Errorf("delays %+v", d)
		}
	}
	if sum != r.Copies || show.Total(r.Kinds) != r.Copies || r.Copies+show.Total(r.NotCopies) != r.Equal {
		return fmt.Errorf("matrix of %d, kinds of %d, %d copies, %d others, %d equal", sum, show.Total(r.Kinds), r.Copies, show.Total(r.NotCopies), r.Equal)
	}
	return nil
}

// WellFormed parses a page as XML, after closing the HTML elements that have no end tag.
func WellFormed(t *testing.T, page string) {
	t.Helper()
	page = strings.Replace(strings.TrimPrefix(page, "<!DOCTYPE html>\n"), `<meta charset="utf-8">`, `<meta charset="utf-8"/>`, 1)
	dec := xml.NewDecoder(strings.NewReader(page))
	for {
		if _, err := dec.Token(); err == io.EOF {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// DistinctRow is a row of "distinct --json" of any kind.
type DistinctRow struct {
	Kind                              string
	WindowStart                       string `json:"window_start"`
	Of, Family, Sensor, Other, Method string
	Distinct, Low, High               uint64
	Packets                           uint64 `json:"packets_in"`
	Only, Both                        uint64
	New, Returning, Gone              *uint64
	Sensors                           string
	Missing                           []string
}

// RunDistinct runs distinct with --json.
func RunDistinct(t *testing.T, args ...string) (rows []DistinctRow) {
	t.Helper()
	out, errs, code := Run(append([]string{"distinct", "--json"}, args...)...)
	if code != cli.ExitDone {
		t.Fatalf("%q: exit code %d, stderr %q", args, code, errs)
	}
	for dec := json.NewDecoder(strings.NewReader(out)); dec.More(); {
		var row DistinctRow
		if err := dec.Decode(&row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

// Key is a value of --key.
var Key = strings.Repeat("5a", 32)

// Name returns what a row counts.
func (r *DistinctRow) Name() string {
	return strings.Join([]string{r.Kind, r.WindowStart, r.Of, r.Family}, " ")
}
