package engine

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/layout"
)

func TestStreamParams(t *testing.T) {
	for _, c := range []struct {
		config StreamConfig
		want   streamParams
	}{
		{StreamConfig{}, streamParams{0, layout.Rows4x16, 1, 0, 1, maxDefaultMemory / layout.LineSize}},
		{StreamConfig{Method: "qht", Memory: 127, FPR: 0.04}, streamParams{1, layout.Rows8x8, 1, 0, 1, 1}},
		{StreamConfig{Method: "qqhtd", Memory: 128, FPR: 0.001}, streamParams{2, layout.Lines32x16, 1, 0, 1, 2}},
		{StreamConfig{Memory: 64, FPR: 1e-9}, streamParams{0, layout.Lines8x64, 1, 0, 1, 1}},
		{StreamConfig{Memory: 64, FPR: 1e-8}, streamParams{0, layout.Lines16x32, 1, 0, 1, 1}},
		{StreamConfig{Memory: 64, Shape: "8x8"}, streamParams{0, layout.Rows8x8, 1, 0, 1, 1}},
		// With two bits of an element 9.4 % are kept by 5 bits cleared, 13.4 % by 4.
		{StreamConfig{Method: "sbf", Memory: 64, K: 2, FPR: 0.1}, streamParams{3, 0, 2, 5, 1, 1}},
		{StreamConfig{Method: "sbf", Memory: 64, K: 2, P: 8}, streamParams{3, 0, 2, 8, 1, 1}},
		{StreamConfig{Method: "bsbf", Memory: 64}, streamParams{5, 0, 2, 0, 1, 1}},
		{StreamConfig{Method: "bsbf", Memory: 64, FPR: 0.2}, streamParams{5, 0, 3, 0, 1, 1}},
		{StreamConfig{Method: "rlbsbf", Memory: 64, K: 1}, streamParams{7, 0, 1, 0, 1, 1}},
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

func TestStreamErrors(t *testing.T) {
	for _, c := range []struct {
		config StreamConfig
		is     error
		says   string
	}{
		{StreamConfig{Method: "lifo"}, ErrStream, `"lifo", must be one of lru, qht`},
		{StreamConfig{Memory: 63}, ErrMemory, "63 bytes, must be from 64"},
		{StreamConfig{Memory: -1}, ErrMemory, "-1 bytes"},
		{StreamConfig{FPR: math.NaN()}, ErrFPR, "between 0 and 1"},
		{StreamConfig{FPR: -0.1}, ErrFPR, "between 0 and 1"},
		{StreamConfig{FPR: 1}, ErrFPR, "between 0 and 1"},
		{StreamConfig{FPR: 1e-19}, ErrFPR, "at least 4.34e-19"},
		{StreamConfig{FPR: 1e-3, Shape: "8x8"}, ErrFPR, "8x8 keep 0.0314"},
		{StreamConfig{Shape: "8x9"}, ErrStream, `shape "8x9"`},
		{StreamConfig{K: 2}, ErrStream, "lru has no K"},
		{StreamConfig{Method: "bsbf", P: 2}, ErrStream, "bsbf has no P"},
		{StreamConfig{Method: "bsbf", Max: 1}, ErrStream, "bsbf has no Max"},
		{StreamConfig{Method: "sbf", Shape: "8x8"}, ErrStream, "sbf has no Shape"},
		{StreamConfig{Method: "sbf", Max: 2}, ErrStream, "Max is 2"},
		{StreamConfig{Method: "sbf", K: 5}, ErrStream, "K is 5, must be from 1 to 4"},
		{StreamConfig{Method: "sbf", Max: 3, K: 9}, ErrStream, "K is 9, must be from 1 to 8"},
		{StreamConfig{Method: "sbf", P: 65}, ErrStream, "P is 65, must be from 1 to 64"},
		{StreamConfig{Method: "sbf", Max: 7, P: 129}, ErrStream, "P is 129, must be from 1 to 128"},
		{StreamConfig{Method: "sbf", FPR: 1e-9}, ErrFPR, "at least 1.42e-05"},
		{StreamConfig{Method: "sbf", K: 2, P: 4, FPR: 0.1}, ErrFPR, "at least 0.13"},
		{StreamConfig{Method: "rsbf", K: 5}, ErrStream, "K is 5, must be from 1 to 4"},
		{StreamConfig{Method: "bsbf", FPR: 0.01}, ErrFPR, "at least 0.07"},
		{StreamConfig{Method: "bsbfsd", FPR: 0.9}, ErrFPR, "at least 1 "},
	} {
		s, err := NewStream(c.config)
		if err == nil {
			s.Close()
		}
		if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v, want %q", c.config, err, c.says)
		}
	}
}
