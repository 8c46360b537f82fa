// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// judge walks through an expression and records its mistakes.
type judge struct {
	offered map[string]*metric
	names   []string // of the metrics that were asked for
	faults  []string
}

func (j *judge) fault(format string, values ...any) {
	j.faults = append(j.faults, fmt.Sprintf(format, values...))
}

// labels returns the labels of the result of an expression.
func (j *judge) labels(e parser.Expr) []string {
	switch e := e.(type) {
	case *parser.NumberLiteral:
		return nil
	case *parser.ParenExpr:
		return j.labels(e.Expr)
	case *parser.VectorSelector:
		return j.selector(e).names()
	case *parser.Call:
		return j.call(e)
	case *parser.AggregateExpr:
		return j.aggregate(e)
	case *parser.BinaryExpr:
		return j.binary(e)
	}
	j.fault("%T is not known to this test", e)
	return nil
}

// selector returns the selected metric.
func (j *judge) selector(s *parser.VectorSelector) *metric {
	j.names = append(j.names, s.Name)
	m := j.offered[s.Name]
	if m == nil {
		j.fault("no metric %s", s.Name)
		return &metric{}
	}
	for _, l := range s.LabelMatchers {
		if l.Name == model.MetricNameLabel || slices.Contains(everySeries, l.Name) {
			continue
		}
		switch values, there := m.labels[l.Name]; {
		case !there:
			j.fault("%s has no label %s", s.Name, l.Name)
		case (l.Type == labels.MatchEqual || l.Type == labels.MatchNotEqual) && !slices.Contains(values, l.Value):
			j.fault("no %s has %s %q", s.Name, l.Name, l.Value)
		}
	}
	return m
}

// call reports rates of metrics that are not counters.
func (j *judge) call(c *parser.Call) []string {
	switch c.Func.Name {
	case "time":
		return nil
	case "rate", "increase":
		s, ok := c.Args[0].(*parser.MatrixSelector)
		if !ok {
			break
		}
		m := j.selector(s.VectorSelector.(*parser.VectorSelector))
		if !m.counter {
			j.fault("%s of a gauge", c)
		}
		return m.names()
	}
	j.fault("%s is not known to this test", c)
	return nil
}

func (j *judge) aggregate(a *parser.AggregateExpr) []string {
	from := j.labels(a.Expr)
	if a.Without {
		j.fault("%s: without is not known to this test", a)
	}
	for _, name := range a.Grouping {
		if !slices.Contains(from, name) {
			j.fault("%s: there is no label %s", a, name)
		}
	}
	return a.Grouping
}

// binary checks that both sides of an operation have the labels that it joins by.
func (j *judge) binary(b *parser.BinaryExpr) []string {
	left, right := j.labels(b.LHS), j.labels(b.RHS)
	if b.LHS.Type() == parser.ValueTypeScalar {
		return right
	}
	if b.RHS.Type() == parser.ValueTypeScalar {
		return left
	}
	by := b.VectorMatching.MatchingLabels
	if !b.VectorMatching.On {
		by = left
		if len(left) != len(right) {
			j.fault("%s: one side has the labels %v, the other %v", b, left, right)
		}
	}
	for _, name := range by {
		if !slices.Contains(left, name) || !slices.Contains(right, name) {
			j.fault("%s: not both sides have the label %s", b, name)
		}
	}
	return j.joined(b, left, right)
}

// joined returns the labels of the result of an operation on two vectors.
func (j *judge) joined(b *parser.BinaryExpr, left, right []string) []string {
	for _, name := range b.VectorMatching.Include {
		if !slices.Contains(right, name) {
			j.fault("%s: the right side has no label %s", b, name)
		}
	}
	switch {
	case b.VectorMatching.Card == parser.CardManyToOne:
		return append(slices.Clone(left), b.VectorMatching.Include...)
	case b.VectorMatching.Card == parser.CardOneToOne && b.VectorMatching.On:
		return b.VectorMatching.MatchingLabels
	case b.VectorMatching.Card == parser.CardOneToOne:
		return left
	}
	j.fault("%s: %v is not known to this test", b, b.VectorMatching.Card)
	return nil
}
