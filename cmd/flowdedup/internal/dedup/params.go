// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"errors"
	"fmt"
	"github.com/flowdedup/flowdedup/engine/stream"
	"github.com/flowdedup/flowdedup/engine/window"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// The names of the methods of window.Timed, window.Timers, window.Coarse, with either kind of
// cells, and window.Partitioned.
const (
	MethodTimed       = "timed"
	MethodTimers      = "timers"
	MethodCoarse      = "coarse"
	MethodFine        = "fine"
	MethodPartitioned = "apbf"
)

// Params are the parameters of a method, by the names that "plan" prints. The method
// chooses those that are missing. All are whole numbers, but for the P of rsbf, which is the
// p* of its paper.
type Params map[string]float64

// CellsFPR returns the false positive rate of a method with coarse or fine cells, which has
// no other, and false for other methods.
func CellsFPR(method string) (fpr float64, has bool) {
	switch method {
	case MethodCoarse:
		return window.CoarseFPR, true
	case MethodFine:
		return window.FineFPR, true
	}
	return 0, false
}

// methodParams returns the names of the parameters of a method; most have none.
func methodParams(method string) []string {
	switch {
	case method == MethodTimers:
		return []string{"K", "equal", "counter-bits"}
	case method == MethodPartitioned:
		return []string{"K"}
	case method == "sbf":
		return []string{"K", "P", "Max"}
	case method == "rsbf":
		return []string{"K", "P"}
	case slices.Contains([]string{"lru", "qht", "qqhtd"}, method):
		return []string{"cells", "cell-bits"}
	case stream.IsMethod(method):
		return []string{"K"}
	}
	return nil
}

// HasParam reports whether a method has a parameter of that name.
func HasParam(method, name string) bool { return slices.Contains(methodParams(method), name) }

// ParseParams reads "K=3,P=10,Max=3", with names in any case.
func ParseParams(text string) (Params, error) {
	p := Params{}
	for word := range strings.SplitSeq(text, ",") {
		name, digits, ok := strings.Cut(word, "=")
		value, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
		name = canonical(strings.TrimSpace(name))
		if !ok || name == "" || err != nil || !validParam(name, value) {
			return nil, errors.New("must be names and whole numbers from 1 on, such as K=3,P=10,Max=3, or a share for the P of rsbf")
		}
		if p[name] != 0 {
			return nil, fmt.Errorf("has %s twice", name)
		}
		p[name] = value
	}
	return p, nil
}

// validParam reports whether a method may have such a parameter: a whole number, or a share.
func validParam(name string, value float64) bool {
	whole := value >= 1 && value <= math.MaxInt32 && value == math.Trunc(value)
	return whole || name == "P" && value > 0 && value < 1
}

// canonical returns the spelling that methods use for a parameter's name.
func canonical(name string) string {
	plain := strings.NewReplacer(" ", "-", "_", "-").Replace(name)
	for _, known := range []string{"K", "P", "Max", "cells", "cell-bits", "counter-bits", "equal"} {
		if strings.EqualFold(plain, known) {
			return known
		}
	}
	return name
}

// String returns the text that ParseParams reads, sorted by name.
func (p Params) String() string {
	var words []string
	for _, name := range p.names() {
		words = append(words, fmt.Sprintf("%s=%v", name, p[name]))
	}
	return strings.Join(words, ",")
}

// whole returns a parameter, or 0 if it is missing.
func (p Params) whole(name string) int { return int(p[name]) }

func (p Params) names() []string { return slices.Sorted(maps.Keys(p)) }

// CheckMethod returns an error if the method does not fit its parameters, the window or
// the false positive rate. Errors about values wrap those of the engine.
func (c *Config) CheckMethod() error {
	known := methodParams(c.Method)
	for _, name := range c.Params.names() {
		switch {
		case len(known) == 0:
			return errors.New("it has no parameters")
		case !slices.Contains(known, name):
			return fmt.Errorf("it has no parameter %s, it takes %s", name, strings.Join(known, ", "))
		case c.Params[name] < 1 && c.Method != "rsbf":
			return fmt.Errorf("its %s is %v, must be a whole number", name, c.Params[name])
		}
	}
	switch {
	case c.Method == MethodTimers:
		return c.timers(0).Check()
	case c.Method == MethodPartitioned:
		return c.partitioned(0).Check()
	case stream.IsMethod(c.Method):
		s, err := c.stream(0)
		if err == nil {
			_, err = s.Complete()
		}
		return err
	}
	return nil
}

// timers returns the configuration of timers for a size of memory.
func (c *Config) timers(memory int) window.TimersConfig {
	return window.TimersConfig{
		Window: c.Window, Memory: memory, Refresh: c.Refresh,
		K: c.Params.whole("K"), Equal: c.Params.whole("equal"), TimerBits: c.Params.whole("counter-bits"),
	}
}

// partitioned returns the configuration of an age-partitioned filter for a size of memory.
func (c *Config) partitioned(memory int) window.PartitionedConfig {
	return window.PartitionedConfig{Window: c.Window, Memory: memory, K: c.Params.whole("K"), Refresh: c.Refresh}
}

// stream returns the configuration of a method without a window for a size of memory. Its
// error names the possible shapes of rows.
func (c *Config) stream(memory int) (stream.Config, error) {
	s := stream.Config{
		Method: c.Method, Memory: memory, FPR: c.FPR,
		K: c.Params.whole("K"), Max: c.Params.whole("Max"),
	}
	if c.Method == "rsbf" {
		s.Threshold = c.Params["P"]
	} else {
		s.P = c.Params.whole("P")
	}
	cells, bits := c.Params.whole("cells"), c.Params.whole("cell-bits")
	if cells == 0 && bits == 0 {
		return s, nil
	}
	var names []string
	for _, shape := range stream.Shapes() { // with falling rates
		names = append(names, shape.Name)
		if cells != 0 && cells != shape.Cells() || bits != 0 && bits != shape.CellBits() {
			continue
		}
		if s.Shape = shape.Name; c.FPR == 0 || shape.FPR() <= c.FPR {
			break
		}
	}
	if s.Shape == "" {
		return s, fmt.Errorf("it has no such rows: cells times cell-bits must be one of %s", strings.Join(names, ", "))
	}
	return s, nil
}
