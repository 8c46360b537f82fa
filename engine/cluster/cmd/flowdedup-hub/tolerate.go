// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/flowdedup/flowdedup/engine/cluster/chain"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// tolerance chooses the number of slices by S_f of KNPS, Definition 3: by copies that pass where lost
// slices are open, and by new packets that are taken for copies where they are closed. Such a filter
// counts as full when its rate is --grow-at.
func (f *shapeFlags) tolerance(changed func(string) bool, shape *chain.Shape) error {
	if !changed("tolerate") {
		return nil
	}
	if changed("slices") {
		return usageError{errors.New("--tolerate says how many --slices there are: leave one of them out")}
	}
	first, second, _ := strings.Cut(f.tolerate, ",")
	failed, err1 := strconv.Atoi(first)
	rate, err2 := strconv.ParseFloat(second, 64)
	if err1 != nil || err2 != nil || failed < 1 {
		return usageError{fmt.Errorf("--tolerate %s: want a number of lost slices and a rate, such as 2,0.05", f.tolerate)}
	}
	count, choices := &shape.H, 1
	switch shape.Layout {
	case chain.Vertical:
		count, choices = &shape.V, shape.Hashes
	case chain.Horizontal:
	default:
		return usageError{fmt.Errorf("--tolerate is for --layout %s and %s", chain.Horizontal, chain.Vertical)}
	}
	var slices int
	var err error
	switch shape.AtLeast {
	case 0:
		slices, err = theory.Tolerance(failed, choices, f.growAt, rate)
	case shape.Hashes:
		slices, err = theory.MissTolerance(failed, choices, rate)
	default:
		return usageError{errors.New("--tolerate is for --lost open and closed")}
	}
	if err != nil {
		return usageError{fmt.Errorf("--tolerate %s: %w", f.tolerate, err)}
	}
	*count = slices
	return nil
}
