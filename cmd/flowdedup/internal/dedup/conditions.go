// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"context"
	"errors"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/input"
)

// maxPreferences is how many preferences a run may have.
const maxPreferences = dedup.MaxPreferences

// conditions are the conditions that a run tests packets for. Kinds that it does not use are
// nil.
type conditions struct {
	only, protect []*input.Matcher // any of several matches
	prefer        []*input.Matcher // the best first
	all           []*input.Matcher
}

// newConditions makes the conditions of a run over inputs of these names.
func newConditions(c *Config, inputs []string) *conditions {
	s := &conditions{}
	s.only = s.add("--only", c.Only, c, inputs)
	s.protect = s.add("--protect", c.Protect, c, inputs)
	s.prefer = s.add("--prefer", c.Choice.Prefer, c, inputs)
	return s
}

// add makes the conditions of a flag.
func (s *conditions) add(flag string, what []input.Condition, c *Config, inputs []string) (added []*input.Matcher) {
	for _, one := range what {
		added = append(added, input.NewMatcher(input.MatcherConfig{
			Flag: flag, Condition: one, Inputs: inputs, InterfaceIndex: c.InterfaceIndex, Warn: c.Input.Warn,
		}))
	}
	s.all = append(s.all, added...)
	return added
}

// HasConditions reports whether packets are matched.
func (c *Config) HasConditions() bool {
	return len(c.Only)+len(c.Protect)+len(c.Choice.Prefer) > 0
}

// Compile compiles the conditions for link types that packets will have, so that their
// first packet need not wait for it. An error about an expression wraps
// bpf.ErrExpression.
func (c *Config) Compile(ctx context.Context, links []capture.LinkType) error {
	c.conditions = newConditions(c, nil)
	for _, m := range c.conditions.all {
		for _, link := range links {
			if err := m.Compile(ctx, link); err != nil {
				return err
			}
		}
	}
	return nil
}

// chooser chooses the packets that meet any of the conditions. It is nil without conditions.
func chooser(any []*input.Matcher) dedup.Chooser {
	switch len(any) {
	case 0:
		return nil
	case 1:
		return any[0].Match
	}
	return func(chosen []uint64, b *capture.Batch, from, to int) {
		any[0].Match(chosen, b, from, to)
		const group = capture.GroupSize
		for ; from < to; from, chosen = from+group, chosen[min(group/64, len(chosen)):] {
			var more [group / 64]uint64
			end := min(from+group, to)
			for _, m := range any[1:] {
				m.Match(more[:], b, from, end)
				for i := range (end - from + 63) / 64 {
					chosen[i] |= more[i]
				}
			}
		}
	}
}

// choosers returns a chooser for each condition, of the packets that meet it.
func choosers(each []*input.Matcher) (all []dedup.Chooser) {
	for _, m := range each {
		all = append(all, m.Match)
	}
	return all
}

// Admit prepares to match a batch, once there is a detector. It must be called for each batch
// before it is prepared, in the order of the stream. Errors come from input.Matcher.Admit.
func (c *Config) Admit(ctx context.Context, b *capture.Batch) error {
	var errs []error
	for _, m := range c.conditions.all {
		errs = append(errs, m.Admit(ctx, b))
	}
	return errors.Join(errs...)
}

// summarize adds the counts of conditions to a summary.
func (s *conditions) summarize(to *Summary, unjudged, protected uint64) {
	if len(s.only) > 0 {
		to.Unjudged = &unjudged
	}
	if len(s.protect) > 0 {
		to.Protected = &protected
	}
	for _, m := range s.all {
		if !m.Matched() {
			to.Unmatched = append(to.Unmatched, m.String())
		}
	}
}
