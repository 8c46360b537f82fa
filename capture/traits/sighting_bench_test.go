// SPDX-License-Identifier: Apache-2.0

package traits

import (
	"bytes"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// BenchmarkSightings describes small packets of both versions, some of them tagged, and
// what of that is decoding.
func BenchmarkSightings(b *testing.B) {
	const packets, step = 20_000, 512
	src, err := pcapfile.NewReader(bytes.NewReader(smallPackets(packets)), "memory", pcapfile.Options{})
	if err != nil {
		b.Fatal(err)
	}
	var batches []*capture.Batch
	for n := 0; n < packets; n += len(batches[len(batches)-1].Frames) {
		batches = append(batches, new(capture.Batch))
		if err := src.Next(batches[len(batches)-1]); err != nil {
			b.Fatal(err)
		}
	}
	d := headers.NewDecoder(headers.DecoderConfig{})
	h := make([]headers.Header, step)
	all := NewSightingReader(SightingConfig{Fields: allPointFields})
	ids, protocols := identity.New(identity.Config{}), make([]headers.Protocol, step)
	seen := Sightings{make([]uint64, step), make([]uint64, step), make([]uint64, step)}
	places := NewSightingReader(SightingConfig{Fields: PointInterface | PointInput})
	for _, c := range []struct {
		name string
		do   func(batch *capture.Batch, from, n int)
	}{
		{"decode", func(batch *capture.Batch, from, n int) { d.Decode(h[:n], batch, from) }},
		{"all", func(batch *capture.Batch, from, n int) { all.Read(batch, from, n) }},
		{"identity", func(batch *capture.Batch, from, n int) { ids.FromFrames(protocols[:n], batch, from) }},
		{"identity and all", func(batch *capture.Batch, from, n int) {
			all.ReadIdentities(seen, batch, from, ids.FromFrames(protocols[:n], batch, from))
		}},
		{"points", func(batch *capture.Batch, from, n int) { all.Points(batch, from, n) }},
		{"places", func(batch *capture.Batch, from, n int) { places.Points(batch, from, n) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				for _, batch := range batches {
					for from := 0; from < len(batch.Frames); from += step {
						c.do(batch, from, min(step, len(batch.Frames)-from))
					}
				}
			}
			perPacket(b, packets)
		})
	}
}
