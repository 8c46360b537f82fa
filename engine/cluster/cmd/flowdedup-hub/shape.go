// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/help"
	"github.com/flowdedup/flowdedup/engine/cluster/chain"
	"github.com/flowdedup/flowdedup/engine/cluster/hub"
)

// shapeFlags are the flags that choose the filter and how it is cut.
type shapeFlags struct {
	layout, slices, filter, size, timers, primitive, lost, tolerate, grow, growLimit string
	hashes, events                                                                   int
	growAt                                                                           float64
}

const (
	rows  = "rows"  // the filter without a chain.Shape
	never = "never" // the value of --grow for no growth
)

const groupFilter help.Group = "Filter"

// ofShapes are the flags that rows have no use for.
var ofShapes = []string{"hashes", "size", "timers", "primitive", "lost", "tolerate", "events", "grow", "grow-at", "grow-limit"}

// shapeNames are the flags that follow from the first start of all hubs.
var shapeNames = append([]string{"slices", "layout", "filter"}, ofShapes...)

func (f *shapeFlags) define(flags *pflag.FlagSet) {
	flags.StringVar(&f.slices, "slices", "64", "`number` of parts that hubs can share; H,V for the layouts hv and vh")
	flags.StringVar(&f.layout, "layout", chain.Horizontal, "how the filter is cut: horizontal, vertical, hv or vh (`kind`); the last three are chains of slices")
	flags.StringVar(&f.filter, "filter", rows, "rows of digests, or of \"One is Enough\": bloom (never forgets), timers (--window) or events (`kind`)")
	flags.IntVar(&f.hashes, "hashes", 4, "`number` of bits or timers of a packet, k, in a filter that is not rows")
	flags.StringVar(&f.size, "size", "64MiB", "`bytes` of a filter that is not rows, all slices together")
	flags.IntVar(&f.events, "events", 1_000_000, "with --filter events: longest distance of a copy, as a `number` of new packets of a chain")
	flags.StringVar(&f.timers, "timers", "any", "timers of a copy: any, equal, or at least `K` of them equal")
	flags.StringVar(&f.primitive, "primitive", "", "test-and-set (the `kind` for bloom) or first-test-then-set (for timers and events)")
	flags.StringVar(&f.lost, "lost", "open", "when slices were lost, packets without all answers pass (open), are copies (closed), or are copies from `X` answers on")
	flags.StringVar(&f.tolerate, "tolerate", "", "instead of --slices: as many that with `F,RATE` F lost ones let at most RATE of copies pass, or with --lost closed at most RATE of new packets are copies")
	flags.StringVar(&f.grow, "grow", never, "when a slice of bloom or timers gets one more filter of its size: never, by density, or by cardinality (`kind`)")
	flags.Float64Var(&f.growAt, "grow-at", 0.01, "with --grow: a filter is full at this share of false copies (`rate`)")
	flags.StringVar(&f.growLimit, "grow-limit", "1GiB", "with --grow: `bytes` of all filters at most, up to 64 times --size")
	groupFilter.Add(flags, shapeNames...)
}

// parseSlices reads the value of --slices: one number, or two.
func (f *shapeFlags) parseSlices() (all []int, err error) {
	product := 1
	for word := range strings.SplitSeq(f.slices, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || n > chain.MaxSlices/product {
			return nil, usageError{fmt.Errorf("--slices %s: want 1 to %d, or H,V for the layouts hv and vh", f.slices, chain.MaxSlices)}
		}
		product *= n
		all = append(all, n)
	}
	return all, nil
}

// apply changes the stored filter to the flags that were given. It reports whether
// earlier tokens became invalid.
func (f *shapeFlags) apply(changed func(string) bool, s *hub.Settings) (invalid bool, err error) {
	shape := s.Shape
	if shape.Rows() {
		shape = chain.Shape{Layout: chain.Horizontal, H: s.Slices, V: 1, Filter: rows, Hashes: 4, AtLeast: 4, Bytes: 64 << 20}
	}
	if changed("filter") {
		shape.Filter = f.filter
	}
	if err := f.cut(changed, &shape); err != nil {
		return false, err
	}
	if shape.Filter == rows {
		return f.applyRows(changed, s, shape)
	}
	if err := errors.Join(f.sizes(changed, &shape), f.rules(changed, &shape), f.growth(changed, &shape), f.tolerance(changed, &shape)); err != nil {
		return false, err
	}
	shape.WindowUS = 0
	if shape.Filter == chain.Timers {
		shape.WindowUS = s.WindowUS
	}
	if err := shape.Check(); err != nil {
		return false, usageError{err}
	}
	invalid = s.Shape != shape
	s.Shape, s.Slices = shape, shape.Slices()
	return invalid, nil
}

// applyRows is apply for rows.
func (f *shapeFlags) applyRows(changed func(string) bool, s *hub.Settings, shape chain.Shape) (invalid bool, err error) {
	if shape.Layout != chain.Horizontal {
		return false, usageError{fmt.Errorf("--layout %s: rows hold whole digests, each in one slice: add --filter bloom, timers or events", shape.Layout)}
	}
	for _, name := range ofShapes {
		if changed(name) {
			return false, usageError{fmt.Errorf("--%s is for --filter bloom, timers and events", name)}
		}
	}
	invalid = !s.Shape.Rows() || s.Slices != shape.H
	s.Shape, s.Slices = chain.Shape{}, shape.H
	return invalid, nil
}

// cut says into which slices the filter is cut.
func (f *shapeFlags) cut(changed func(string) bool, shape *chain.Shape) error {
	if changed("layout") {
		shape.Layout = f.layout
	} else if !changed("slices") {
		return nil
	}
	given := map[string][]int{chain.Horizontal: {64}, chain.Vertical: {8}, chain.HV: {8, 8}, chain.VH: {4, 4}}[shape.Layout]
	if given == nil {
		return usageError{fmt.Errorf("--layout %s: want %s", shape.Layout, strings.Join(chain.Layouts, ", "))}
	}
	if changed("slices") {
		want := len(given)
		var err error
		if given, err = f.parseSlices(); err != nil {
			return err
		}
		if len(given) != want {
			return usageError{fmt.Errorf("--slices %s: want %s for --layout %s", f.slices, []string{1: "a number", 2: "H,V"}[want], shape.Layout)}
		}
	}
	switch given = append(given, 1); shape.Layout {
	case chain.Vertical:
		shape.H, shape.V = 1, given[0]
	default:
		shape.H, shape.V = given[0], given[1]
	}
	return nil
}

// sizes sets the numbers of a filter that is not rows.
func (f *shapeFlags) sizes(changed func(string) bool, shape *chain.Shape) error {
	if changed("hashes") {
		if shape.AtLeast == shape.Hashes {
			shape.AtLeast = f.hashes // open
		}
		shape.Hashes = f.hashes
	}
	if changed("size") {
		var err error
		if shape.Bytes, err = sizeOf("size", f.size); err != nil {
			return err
		}
	}
	if shape.Filter != chain.Events {
		if changed("events") {
			return usageError{errors.New("--events is for --filter events")}
		}
		shape.Deliveries = 0
	} else if changed("events") || shape.Deliveries == 0 {
		shape.Deliveries = f.events
	}
	return nil
}

// sizeOf reads the value of a flag: a size in bytes.
func sizeOf(flag, value string) (int, error) {
	n, err := humanize.ParseBytes(value)
	if err != nil || n > min(1<<40, math.MaxInt) {
		return 0, usageError{fmt.Errorf("--%s %s: want a size such as 64MiB", flag, value)}
	}
	return int(n), nil
}

// growth sets when slices grow.
func (f *shapeFlags) growth(changed func(string) bool, shape *chain.Shape) error {
	if changed("grow") {
		if shape.Grow = f.grow; f.grow == never {
			shape.Grow = ""
		} else if !slices.Contains(chain.Growths, f.grow) {
			return usageError{fmt.Errorf("--grow %s: want %s, %s", f.grow, never, strings.Join(chain.Growths, ", "))}
		}
	}
	if shape.Filter == chain.Events || shape.Grow == "" {
		switch {
		case shape.Grow != "" && changed("grow"):
			return usageError{errors.New("--grow is for --filter bloom and timers: events have a bounded number of packets")}
		case changed("grow-at") || changed("grow-limit"):
			return usageError{errors.New("--grow-at and --grow-limit are for --grow")}
		}
		shape.Grow, shape.FPR, shape.Limit = "", 0, 0
		return nil
	}
	if changed("grow-at") || shape.FPR == 0 {
		shape.FPR = f.growAt
	}
	if !changed("grow-limit") && shape.Limit != 0 {
		return nil
	}
	var err error
	shape.Limit, err = sizeOf("grow-limit", f.growLimit)
	return err
}

// rules sets the rules of decision of a filter that is not rows.
func (f *shapeFlags) rules(changed func(string) bool, shape *chain.Shape) error {
	if changed("primitive") {
		shape.Primitive = f.primitive
	} else if changed("filter") || changed("layout") || shape.Primitive == "" {
		shape.Primitive = chain.FirstTestThenSet
		if shape.Filter == chain.Bloom {
			shape.Primitive = chain.TestAndSet
		}
	}
	var err error
	if changed("timers") {
		shape.Equal, err = number("timers", f.timers, map[string]int{"any": 0, "equal": shape.Hashes})
	} else if shape.Filter == chain.Bloom {
		shape.Equal = 0
	}
	if changed("lost") && err == nil {
		shape.AtLeast, err = number("lost", f.lost, map[string]int{"open": shape.Hashes, "closed": 0})
	}
	return err
}

// number reads the value of a flag: a word, or a number from 1 on.
func number(flag, value string, words map[string]int) (int, error) {
	if n, ok := words[value]; ok {
		return n, nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		all := slices.Sorted(maps.Keys(words))
		return 0, usageError{fmt.Errorf("--%s %s: want %s or a number", flag, value, strings.Join(all, ", "))}
	}
	return n, nil
}
