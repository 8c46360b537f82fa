// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/method"
	"github.com/flowdedup/flowdedup/engine/stream"
	"github.com/flowdedup/flowdedup/engine/window"
)

// checkMethod returns an error if the method does not fit its parameters, the window or the
// false positive rate. Errors about values wrap the engine's.
func (c *Config) checkMethod() error {
	known := method.ParamNames(c.Method)
	for _, name := range c.Params.Names() {
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
	case c.Method == method.Timers:
		return c.timers(0).Check()
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
		K: c.Params.Whole("K"), Equal: c.Params.Whole("equal"), TimerBits: c.Params.Whole("counter-bits"),
	}
}

// stream returns the configuration of a method without a window for a size of memory. Its
// error names the possible shapes of rows.
func (c *Config) stream(memory int) (stream.Config, error) {
	s := stream.Config{
		Method: c.Method, Memory: memory, FPR: c.FPR,
		K: c.Params.Whole("K"), Max: c.Params.Whole("Max"),
	}
	if c.Method == "rsbf" {
		s.Threshold = c.Params["P"]
	} else {
		s.P = c.Params.Whole("P")
	}
	cells, bits := c.Params.Whole("cells"), c.Params.Whole("cell-bits")
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
