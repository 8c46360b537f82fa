// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"math"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/version"
	"github.com/flowdedup/flowdedup/engine/sizing"
)

// result is the answer; its JSON form is part of the command line's contract.
type result struct {
	version.Heading
	Of     string `json:"of"`
	Window string `json:"window"`
	Kind   string `json:"kind"`
	// Refresh says that a copy restarts the window.
	Refresh bool `json:"refresh"`
	// Elements is the number of elements in a window, in unbounded streams the longest gap.
	// DistinctShare is the share of elements that did not come within the window before.
	Elements       float64 `json:"elements"`
	DistinctShare  float64 `json:"distinct_share"`
	WindowDistinct float64 `json:"window_distinct"` // different elements in a window
	// MemoryBytes is the available memory, nil if the least is asked for.
	MemoryBytes *float64 `json:"memory_bytes"`
	FPR         float64  `json:"max_fpr"`
	FNR         float64  `json:"max_fnr"`
	// Measured describes the captures, nil without any.
	Measured *measurement `json:"measured"`

	Recommended *string `json:"recommended"` // nil if no method meets the request
	Reason      string  `json:"reason"`
	Warning     string  `json:"warning,omitempty"` // why it may not fit
	// Command runs the best candidate that meets the request, nil if there is none.
	Command    *string     `json:"recommended_command"`
	Candidates []candidate `json:"candidates"`

	units    units
	anchored bool // windows begin at a packet that was kept
	all      bool // text and page show all candidates
}

// candidate is a method with its parameters.
type candidate struct {
	Method     string         `json:"method"`
	Title      string         `json:"title"`
	Source     string         `json:"source"`
	Parameters map[string]int `json:"parameters"`
	// MemoryBytes is the memory in use; FPR and FNR are the resulting error rates. They
	// are nil if the method does not fit into the memory.
	MemoryBytes *float64 `json:"memory_bytes"`
	FPR         *float64 `json:"predicted_fpr"`
	FNR         *float64 `json:"predicted_fnr"`
	FPRKind     string   `json:"fpr_kind"` // "exact" or "bound"
	CacheLines  *float64 `json:"cache_lines"`
	// EdgeError bounds by which share of it a window may be too long.
	EdgeError float64 `json:"edge_error,omitempty"`
	// Remembered is the number of distinct elements remembered, nil for all.
	Remembered     *float64 `json:"remembered"`
	BitsPerElement *float64 `json:"bits_per_element"`
	// NeededBytes is the least memory that keeps both bounds, nil if none does.
	NeededBytes *float64 `json:"needed_bytes"`
	Meets       bool     `json:"meets"`
	Why         string   `json:"why,omitempty"`
	// Command runs it, nil where it does not fit into the memory.
	Command *string `json:"command"`
	Curve   []point `json:"curve,omitempty"`
}

// point is a point of a curve.
type point struct {
	MemoryBytes float64 `json:"memory_bytes"`
	FPR         float64 `json:"predicted_fpr"`
	FNR         float64 `json:"predicted_fnr"`
}

// run answers the request; m is nil if nothing was measured. Errors wrap
// sizing.ErrQuestion.
func run(c *config, m *measurement) (*result, error) {
	q, err := c.question(m)
	if err != nil {
		return nil, err
	}
	a, err := sizing.Plan(q)
	if err != nil {
		return nil, err
	}
	r := &result{
		Heading: version.HeadingOf("plan"),
		Of:      c.Element.String(), Window: c.Window.String(), Kind: a.Question.Kind.String(),
		Elements: a.Question.Elements, DistinctShare: a.Question.Distinct, WindowDistinct: a.Window,
		FPR: a.Question.FPR, FNR: a.Question.FNR, Measured: m, Refresh: c.Refresh,
		units:    newUnits(a.Candidates),
		anchored: !a.Question.Refresh && a.Question.Kind != sizing.Landmark,
		all:      c.All,
	}
	r.Reason, r.Warning = a.Reason(r.units.ofSizing()), a.Warning(r.units.ofSizing())
	if q.MemoryBits > 0 {
		r.MemoryBytes = bytesOf(q.MemoryBits)
	}
	if a.Recommended != nil {
		r.Recommended = &a.Recommended.Method.Name
	}
	for i := range a.Candidates {
		candidate := c.candidate(&a.Candidates[i])
		r.Candidates = append(r.Candidates, candidate)
		if r.Command == nil && candidate.Meets {
			r.Command = candidate.Command
		}
	}
	return r, nil
}

func (c *config) candidate(from *sizing.Candidate) candidate {
	out := candidate{
		Method: from.Method.Name, Title: from.Method.Title, Source: from.Method.Source,
		Parameters: map[string]int{}, FPRKind: string(from.Method.Certainty),
		Meets: from.Meets, Why: from.Why, Command: c.command(from),
	}
	if from.NeededBits > 0 {
		out.NeededBytes = bytesOf(from.NeededBits)
	}
	if from.Bits == 0 {
		return out
	}
	out.Parameters, out.EdgeError = from.Parameters, from.Edge
	out.MemoryBytes = bytesOf(from.Bits)
	fpr, fnr := show.Rounded(from.FPR), show.Rounded(from.FNR)
	out.FPR, out.FNR, out.CacheLines = &fpr, &fnr, &from.Lines
	if !math.IsInf(from.Remembered, 1) {
		out.Remembered = &from.Remembered
	}
	if b := from.BitsPerElement(); b > 0 {
		out.BitsPerElement = &b
	}
	for _, p := range from.Curve {
		out.Curve = append(out.Curve, point{MemoryBytes: float64(p.Bits) / 8, FPR: show.Rounded(p.FPR), FNR: show.Rounded(p.FNR)})
	}
	return out
}

func bytesOf(bits int) *float64 {
	b := float64(bits) / 8
	return &b
}
