// SPDX-License-Identifier: Apache-2.0

// Package method has the names of methods that find copies, and their parameters, which plan
// prints and dedup takes.
package method

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/flowdedup/flowdedup/engine/stream"
	"github.com/flowdedup/flowdedup/engine/window"
)

// The names of the methods of window.Timed, window.Timers, and window.Coarse with either kind of
// cells.
const (
	Timed  = "timed"
	Timers = "timers"
	Coarse = "coarse"
	Fine   = "fine"
)

// Params are the parameters of a method, by the names that "plan" prints. The method chooses
// missing ones. All are whole numbers, except the P of rsbf, which is the p* of its paper.
type Params map[string]float64

// CellsFPR returns the false positive rate of a method with coarse or fine cells, which has
// no other, and false for other methods.
func CellsFPR(method string) (fpr float64, has bool) {
	switch method {
	case Coarse:
		return window.CoarseFPR, true
	case Fine:
		return window.FineFPR, true
	}
	return 0, false
}

// ParamNames returns the names of the parameters of a method; most have none.
func ParamNames(method string) []string {
	switch {
	case method == Timers:
		return []string{"K", "equal", "counter-bits"}
	case method == "sbf":
		return []string{"K", "P", "Max"}
	case method == "rsbf":
		return []string{"K", "P"}
	case stream.HasRows(method):
		return []string{"cells", "cell-bits"}
	case stream.IsMethod(method):
		return []string{"K"}
	}
	return nil
}

// HasParam reports whether a method has a parameter of that name.
func HasParam(method, name string) bool { return slices.Contains(ParamNames(method), name) }

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
	for _, name := range p.Names() {
		words = append(words, fmt.Sprintf("%s=%v", name, p[name]))
	}
	return strings.Join(words, ",")
}

// Whole returns a parameter, or 0 if it is missing.
func (p Params) Whole(name string) int { return int(p[name]) }

// Names returns the names, sorted.
func (p Params) Names() []string { return slices.Sorted(maps.Keys(p)) }
