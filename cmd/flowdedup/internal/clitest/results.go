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
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
)

// CompareResult is the part of "compare --json" that scripts read.
type CompareResult struct {
	Verdict   string
	Same      bool
	Both      uint64
	OnlyA     uint64 `json:"only_a"`
	OnlyB     uint64 `json:"only_b"`
	Reordered uint64
	OffsetNS  *int64                    `json:"offset_ns"`
	DriftPPM  *float64                  `json:"drift_ppm"`
	Delay     *struct{ P50, Max int64 } `json:"delay_ns"`
	A, B      struct {
		Packets   uint64 `json:"packets_in"`
		Truncated uint64 `json:"truncated"`
		Outside   uint64
		LAN       string
	}
	Conversations []struct{ Name string }
	IdentityBytes int `json:"identity_bytes"`
	Filtered      uint64
	Unpathed      uint64
	Damaged       bool
}

// RunCompare runs compare, and checks its exit code and that its counts add up.
func RunCompare(t *testing.T, code int, args ...string) (r CompareResult, stderr string) {
	t.Helper()
	out, errs, got := Run(append([]string{"compare", "--json"}, args...)...)
	if got != code {
		t.Fatalf("compare %v: exit code %d, want %d: %s", args, got, code, errs)
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("compare %v: %v: %s", args, err, out)
	}
	if err := r.check(); err != nil {
		t.Errorf("compare %v: %v", args, err)
	}
	return r, errs
}

// check returns an error unless the counts add up.
func (r *CompareResult) check() error {
	if r.Same != (r.OnlyA+r.OnlyB == r.A.Outside+r.B.Outside && (r.Both > 0 || r.A.Packets+r.B.Packets == 0)) || r.Both+r.OnlyA != r.A.Packets || r.Both+r.OnlyB != r.B.Packets {
		return fmt.Errorf("counts that do not add up: %+v", r)
	}
	return nil
}

// InspectResult is the part of "inspect --json" that scripts read.
type InspectResult struct {
	Undecidable  uint64
	ChecksumOnly uint64 `json:"checksum_only"`
	Verdict      string
	Packets      uint64 `json:"packets_in"`
	Copies       uint64 `json:"duplicates"`
	Equal        uint64
	Kinds        map[string]uint64
	TTLSteps     map[string]uint64 `json:"ttl_steps"`
	Matrix       []struct {
		First, Copy string
		Count       uint64                                   `json:"duplicates"`
		Delay       struct{ P50, P90, P99, P999, Max int64 } `json:"delay_ns"`
	}
	NotCopies  map[string]uint64 `json:"not_copies"`
	Conclusion string
	Looped     uint64
	Loops      []struct {
		Kind            string
		Stations, Hosts []string
		Sightings       uint64
		Most            uint64 `json:"most_sightings"`
	}
	Tried []struct {
		Ignore   []string
		Compared uint64
		Equal    uint64
		Copies   uint64 `json:"duplicates"`
	}
	Damaged        bool
	Recommendation struct {
		Dedup                bool
		Identity, Window     string
		IdentityBytes        int `json:"identity_bytes"`
		Ignore               []string
		Command              string
		Removes, Wrong, Left uint64
		Reasons              []string
	}
}

// RunInspect runs inspect, and checks its exit code and that its counts add up.
func RunInspect(t *testing.T, code int, args ...string) (r InspectResult) {
	t.Helper()
	out, errs, got := Run(append([]string{"inspect", "--json"}, args...)...)
	if got != code {
		t.Fatalf("inspect %v: exit code %d: %s", args, got, errs)
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("inspect %v: %v: %s", args, err, out)
	}
	if err := r.check(); err != nil {
		t.Errorf("inspect %v: %v", args, err)
	}
	return r
}

// check returns an error unless the counts add up.
func (r *InspectResult) check() error {
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

// PreferredCounts are what summaries say of packets that were preferred.
type PreferredCounts struct {
	PacketsOut        uint64 `json:"packets_out"`
	WholePreferred    *int   `json:"whole_preferred"`
	ChecksumPreferred *int   `json:"checksum_preferred"`
	HeldBytes         *int   `json:"held_bytes"`
}
