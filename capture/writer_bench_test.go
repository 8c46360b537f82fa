package capture

import (
	"context"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture/outfile"
)

// smallPackets is a batch of n packets of 60 bytes.
func smallPackets(b *testing.B, n int) *Batch {
	b.Helper()
	g := &forge{order: binary.LittleEndian}
	g.pcapHeader(0xA1B23C4D, 4, 262144, 1)
	for i := range n {
		g.record(uint32(i), 0, make([]byte, 60), 60)
	}
	src := source(b, g.bytes(), "bench")
	defer src.Close()
	all := &Batch{}
	if err := each(b, src, func(part *Batch) {
		at := uint32(len(all.Buf))
		all.Interfaces, all.Sections = part.Interfaces, part.Sections
		for _, k := range part.Blocks {
			k.Offset += at
			k.Before += uint32(len(all.Frames))
			all.Blocks = append(all.Blocks, k)
		}
		for _, f := range part.Frames {
			f.Data, f.Record = f.Data+at, f.Record+at
			all.Frames = append(all.Frames, f)
		}
		all.Buf = append(all.Buf, part.Buf...)
	}); err != nil {
		b.Fatal(err)
	}
	return all
}

// benchDrops are the frames dropped, as a word that repeats.
var benchDrops = []struct {
	name string
	word uint64
}{{"drop=0", 0}, {"drop=1in64", 1 << 40}, {"drop=1in2", 0x5555555555555555}, {"drop=all", ^uint64(0)}}

// benchBatch holds about as much as a batch of the readers.
const benchBatch = 7000

func benchWriter(b *testing.B, batch *Batch, w Writer, word uint64) {
	b.Helper()
	drop := make([]uint64, (len(batch.Frames)+63)/64)
	for i := range drop {
		drop[i] = word
	}
	b.SetBytes(int64(len(batch.Buf)))
	for b.Loop() {
		if err := w.Write(batch, drop); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(batch.Frames)), "ns/packet")
}

// sink takes everything, as io.Discard does.
type sink struct{}

func (sink) Write(p []byte) (int, error) { return len(p), nil }

func BenchmarkWriterCopy(b *testing.B) {
	batch := smallPackets(b, benchBatch)
	for _, d := range benchDrops {
		b.Run(d.name, func(b *testing.B) { benchWriter(b, batch, NewWriter(sink{}, WriterOptions{}), d.word) })
	}
}

func BenchmarkWriterFile(b *testing.B) {
	batch := smallPackets(b, benchBatch)
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
	batch := smallPackets(b, benchBatch)
	second := Section{Input: 1, Format: FormatPcapNG}
	batch.Sections = append(batch.Sections[:1:1], second)
	for _, d := range benchDrops {
		b.Run(d.name, func(b *testing.B) { benchWriter(b, batch, NewWriter(sink{}, WriterOptions{Merged: true}), d.word) })
	}
}

// BenchmarkWriterRotation is BenchmarkWriterFile to one file without end, and to files
// of 8 MiB.
func BenchmarkWriterRotation(b *testing.B) {
	batch := smallPackets(b, benchBatch)
	for _, size := range []int64{1 << 40, 8 << 20} {
		for _, d := range benchDrops {
			b.Run(fmt.Sprintf("size=%d/%s", size, d.name), func(b *testing.B) {
				r, err := NewRotation(filepath.Join(b.TempDir(), "out.pcap"),
					RotateOptions{Size: size, Every: 24 * time.Hour, Keep: 2, Output: outfile.Options{NoSync: true}})
				if err != nil {
					b.Fatal(err)
				}
				defer r.Discard()
				benchWriter(b, batch, r, d.word)
			})
		}
	}
}
