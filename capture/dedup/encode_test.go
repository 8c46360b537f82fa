// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/pipeline"
)

// encoder is a writer whose tasks encode batches ahead.
type encoder struct {
	dropped
	t       *testing.T
	encoded atomic.Int64
	written int64 // of these
}

func (e *encoder) NewEncoding() dedup.Encoding { return &encoding{encoder: e} }

type encoding struct {
	encoder *encoder
	batch   *capture.Batch
	first   *capture.Frame
	drop    []uint64
}

// Encode notes the batch as it is.
func (e *encoding) Encode(b *capture.Batch, drop []uint64) {
	if e.batch != nil {
		e.encoder.t.Error("a batch was encoded before the last one was written")
	}
	e.batch, e.drop, e.first = b, slices.Clone(drop), nil
	if len(b.Frames) > 0 {
		e.first = &b.Frames[0]
	}
	e.encoder.encoded.Add(1)
}

// Write checks that an encoded batch is as it was.
func (e *encoding) Write(b *capture.Batch, drop []uint64) error {
	if b == e.batch {
		if !slices.Equal(drop, e.drop) || e.first != nil && &b.Frames[0] != e.first {
			e.encoder.t.Errorf("encoded without %b, written without %b", e.drop, drop)
		}
		e.batch = nil
		e.encoder.written++
	}
	return e.encoder.Write(b, drop)
}

// TestEncode checks that batches are encoded with their final verdicts, and that these are the
// same as without: also where packets wait for better copies.
func TestEncode(t *testing.T) {
	encoded := map[string]int64{}
	eachTruth(t, func(t *testing.T, want *truth) {
		for name, flow := range map[string]bool{"first": false, "flow": true} {
			var plain dropped
			run := func(w dedup.PacketWriter, workers int) {
				cfg := want.config()
				cfg.Hold.Flow = flow
				if err := pipeline.New(want.open(t)).Run(context.Background(), workers, detector(t, cfg).Tasks(w)); err != nil {
					t.Fatal(err)
				}
			}
			run(&plain, 1)
			for _, workers := range []int{1, 2, 8, 40} {
				e := &encoder{t: t}
				run(e, workers)
				if e.n != plain.n || !slices.Equal(e.drop, plain.drop) || e.encoded.Load() != e.written {
					t.Errorf("%s, %d workers: %d packets without %d, want %d without %d; %d batches encoded, %d of them written",
						name, workers, e.n, len(e.drop), plain.n, len(plain.drop), e.encoded.Load(), e.written)
				}
				encoded[name] += e.written
			}
		}
	})
	if encoded["first"] == 0 || encoded["flow"] == 0 || encoded["flow"] >= encoded["first"] {
		t.Errorf("encoded batches: %v", encoded)
	}
}
