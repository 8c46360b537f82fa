package dedup

import (
	"context"
	"errors"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/flow"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/input"
)

// MaxPreferences is how many preferences a run may have.
const MaxPreferences = 255

// pointFields returns the fields of Within.
func (c *Config) pointFields() (all flow.PointFields) {
	for _, name := range c.Within {
		f, err := flow.ParsePointField(name)
		if err != nil {
			panic("dedup: " + err.Error()) // the caller has checked the names
		}
		all |= f
	}
	return all
}

// conditions are what a run looks for in packets. Those that it has none of are nil.
type conditions struct {
	only, protect *input.Matcher
	prefer        []*input.Matcher // the best one first
	all           []*input.Matcher
}

// newConditions makes the conditions of a run over inputs of these names.
func newConditions(c *Config, inputs []string) *conditions {
	s := &conditions{}
	s.only = s.add("--only", c.Only, c, inputs)
	s.protect = s.add("--protect", c.Protect, c, inputs)
	for _, p := range c.Choice.Prefer {
		s.prefer = append(s.prefer, s.add("--prefer", p, c, inputs))
	}
	return s
}

func (s *conditions) add(flag string, what input.Condition, c *Config, inputs []string) *input.Matcher {
	if what.None() {
		return nil
	}
	m := input.NewMatcher(input.MatcherConfig{
		Flag: flag, Condition: what, Inputs: inputs, InterfaceIndex: c.InterfaceIndex, Warn: c.Input.Warn,
	})
	s.all = append(s.all, m)
	return m
}

// HasConditions reports whether packets are matched.
func (c *Config) HasConditions() bool {
	return !c.Only.None() || !c.Protect.None() || len(c.Choice.Prefer) > 0
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

// chooser returns the packets that a condition chooses, nil for no condition.
func chooser(m *input.Matcher) dedup.Chooser {
	if m == nil {
		return nil
	}
	return m.Match
}

// admit prepares to match a batch.
func (s *conditions) admit(ctx context.Context, b *capture.Batch) error {
	var errs []error
	for _, m := range s.all {
		errs = append(errs, m.Admit(ctx, b))
	}
	return errors.Join(errs...)
}

// rank sets ranks[i] to the number of the first preference that packet from+i matches, or
// to how many there are. from is a multiple of 64, and matched has room for a bit for each
// packet.
func (s *conditions) rank(ranks []uint8, matched []uint64, b *capture.Batch, from int) {
	for i := range ranks {
		ranks[i] = uint8(len(s.prefer))
	}
	for number := len(s.prefer) - 1; number >= 0; number-- {
		s.prefer[number].Match(matched, b, from, from+len(ranks))
		for i := range ranks {
			bit := uint8(matched[i/64]>>(i%64)) & 1
			ranks[i] ^= (ranks[i] ^ uint8(number)) & -bit // without a branch
		}
	}
}

// summarize adds what conditions did to a summary.
func (s *conditions) summarize(to *Summary, unjudged, protected uint64) {
	if s.only != nil {
		to.Unjudged = &unjudged
	}
	if s.protect != nil {
		to.Protected = &protected
	}
	for _, m := range s.all {
		if !m.Matched() {
			to.Unmatched = append(to.Unmatched, m.String())
		}
	}
}
