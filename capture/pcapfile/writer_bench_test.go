package pcapfile

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
	"github.com/flowdedup/flowdedup/capture/outfile"
)

// sink takes everything, as io.Discard does.
type sink struct{}

func (sink) Write(p []byte) (int, error) { return len(p), nil }

func BenchmarkWriterCopy(b *testing.B) {
	batch := capturetest.WholeBatch(b, source(b, capturetest.SmallPackets().Bytes(), "bench"))
	for _, d := range capturetest.BenchDrops {
		b.Run(d.Name, func(b *testing.B) { capturetest.BenchWriter(b, batch, NewWriter(sink{}, WriterOptions{}), d.Word) })
	}
}

func BenchmarkWriterFile(b *testing.B) {
	batch := capturetest.WholeBatch(b, source(b, capturetest.SmallPackets().Bytes(), "bench"))
	for _, d := range capturetest.BenchDrops {
		b.Run(d.Name, func(b *testing.B) {
			o, err := outfile.Create(context.Background(), filepath.Join(b.TempDir(), "out.pcap"), outfile.Options{NoSync: true})
			if err != nil {
				b.Fatal(err)
			}
			defer o.Discard()
			capturetest.BenchWriter(b, batch, NewWriter(o, WriterOptions{}), d.Word)
		})
	}
}

// BenchmarkWriterSection encodes pcap records anew.
func BenchmarkWriterSection(b *testing.B) {
	batch := capturetest.WholeBatch(b, source(b, capturetest.SmallPackets().Bytes(), "bench"))
	second := capture.Section{Input: 1, Format: capture.FormatPcapNG}
	batch.Sections = append(batch.Sections[:1:1], second)
	for _, d := range capturetest.BenchDrops {
		b.Run(d.Name, func(b *testing.B) {
			capturetest.BenchWriter(b, batch, NewWriter(sink{}, WriterOptions{Merged: true}), d.Word)
		})
	}
}
