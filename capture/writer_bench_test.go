package capture

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/flowdedup/flowdedup/capture/outfile"
)

// sink takes everything, as io.Discard does.
type sink struct{}

func (sink) Write(p []byte) (int, error) { return len(p), nil }

func BenchmarkWriterCopy(b *testing.B) {
	batch := wholeBatch(b, source(b, forgeSmall().bytes(), "bench"))
	for _, d := range benchDrops {
		b.Run(d.name, func(b *testing.B) { benchWriter(b, batch, NewWriter(sink{}, WriterOptions{}), d.word) })
	}
}

func BenchmarkWriterFile(b *testing.B) {
	batch := wholeBatch(b, source(b, forgeSmall().bytes(), "bench"))
	for _, d := range benchDrops {
		b.Run(d.name, func(b *testing.B) {
			o, err := outfile.Create(context.Background(), filepath.Join(b.TempDir(), "out.pcap"), outfile.Options{NoSync: true})
			if err != nil {
				b.Fatal(err)
			}
			defer o.Discard()
			benchWriter(b, batch, NewWriter(o, WriterOptions{}), d.word)
		})
	}
}

// BenchmarkWriterSection encodes pcap records anew.
func BenchmarkWriterSection(b *testing.B) {
	batch := wholeBatch(b, source(b, forgeSmall().bytes(), "bench"))
	second := Section{Input: 1, Format: FormatPcapNG}
	batch.Sections = append(batch.Sections[:1:1], second)
	for _, d := range benchDrops {
		b.Run(d.name, func(b *testing.B) { benchWriter(b, batch, NewWriter(sink{}, WriterOptions{Merged: true}), d.word) })
	}
}
