// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"math"
	"testing"

	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/internal/check"
	"github.com/flowdedup/flowdedup/engine/internal/mem"
	"github.com/flowdedup/flowdedup/layout"
)

func TestParams(t *testing.T) {
	for _, c := range []struct {
		config Config
		want   parameters
	}{
		{Config{}, parameters{0, layout.Rows4x16, 1, 0, 1, mem.MaxDefault / layout.LineSize}},
		{Config{Method: "qht", Memory: 127, FPR: 0.04}, parameters{1, layout.Rows8x8, 1, 0, 1, 1}},
		{Config{Method: "qqhtd", Memory: 128, FPR: 0.001}, parameters{2, layout.Lines32x16, 1, 0, 1, 2}},
		{Config{Memory: 64, FPR: 1e-9}, parameters{0, layout.Lines8x64, 1, 0, 1, 1}},
		{Config{Memory: 64, FPR: 1e-8}, parameters{0, layout.Lines16x32, 1, 0, 1, 1}},
		{Config{Memory: 64, Shape: "8x8"}, parameters{0, layout.Rows8x8, 1, 0, 1, 1}},
		// With two bits of an element 9.4 % are kept by 5 bits cleared, 13.4 % by 4.
		{Config{Method: "sbf", Memory: 64, K: 2, FPR: 0.1}, parameters{3, 0, 2, 5, 1, 1}},
		{Config{Method: "sbf", Memory: 64, K: 2, P: 8}, parameters{3, 0, 2, 8, 1, 1}},
		{Config{Method: "bsbf", Memory: 64}, parameters{5, 0, 2, 0, 1, 1}},
		{Config{Method: "bsbf", Memory: 64, FPR: 0.2}, parameters{5, 0, 3, 0, 1, 1}},
		{Config{Method: "rlbsbf", Memory: 64, K: 1}, parameters{7, 0, 1, 0, 1, 1}},
	} {
		s := mustStream(t, c.config)
		if s.params != c.want {
			t.Errorf("%+v: %+v, want %+v", c.config, s.params, c.want)
		}
		if fpr := c.config.FPR; fpr > 0 && s.Stats().FPRBound > fpr {
			t.Errorf("%+v: bound %v", c.config, s.Stats().FPRBound)
		}
	}
}

// refused are configurations that cannot be.
var refused = []check.Refused[Config]{
	{Config{Method: "lifo"}, errParameter, `"lifo", must be one of lru, qht`},
	{Config{Memory: 63}, engine.ErrMemory, "63 bytes, must be from 64"},
	{Config{Memory: -1}, engine.ErrMemory, "-1 bytes"},
	{Config{FPR: math.NaN()}, engine.ErrFPR, "between 0 and 1"},
	{Config{FPR: -0.1}, engine.ErrFPR, "between 0 and 1"},
	{Config{FPR: 1}, engine.ErrFPR, "between 0 and 1"},
	{Config{FPR: 1e-19}, engine.ErrFPR, "at least 4.34e-19"},
	{Config{FPR: 1e-3, Shape: "8x8"}, engine.ErrFPR, "8x8 keep 0.0314"},
	{Config{Shape: "8x9"}, errParameter, `shape "8x9"`},
	{Config{K: 2}, errParameter, "lru has no K"},
	{Config{Method: "bsbf", P: 2}, errParameter, "bsbf has no P"},
	{Config{Method: "bsbf", Max: 1}, errParameter, "bsbf has no Max"},
	{Config{Method: "sbf", Shape: "8x8"}, errParameter, "sbf has no Shape"},
	{Config{Method: "sbf", Max: 2}, errParameter, "Max is 2"},
	{Config{Method: "sbf", K: 5}, errParameter, "K is 5, must be from 1 to 4"},
	{Config{Method: "sbf", Max: 3, K: 9}, errParameter, "K is 9, must be from 1 to 8"},
	{Config{Method: "sbf", P: 65}, errParameter, "P is 65, must be from 1 to 64"},
	{Config{Method: "sbf", Max: 7, P: 129}, errParameter, "P is 129, must be from 1 to 128"},
	{Config{Method: "sbf", FPR: 1e-9}, engine.ErrFPR, "at least 1.42e-05"},
	{Config{Method: "sbf", K: 2, P: 4, FPR: 0.1}, engine.ErrFPR, "at least 0.13"},
	{Config{Method: "rsbf", K: 5}, errParameter, "K is 5, must be from 1 to 4"},
	{Config{Method: "rsbf", Threshold: 1.1}, errParameter, "p* is 1.1, must be from 1e-06 to 1"},
	{Config{Method: "rsbf", Threshold: math.NaN()}, errParameter, "p* is NaN"},
	{Config{Method: "bsbf", Threshold: 0.1}, errParameter, "method bsbf has no Threshold"},
	{Config{Method: "bsbf", FPR: 0.01}, engine.ErrFPR, "at least 0.07"},
	{Config{Method: "bsbfsd", FPR: 0.9}, engine.ErrFPR, "at least 1 "},
}
