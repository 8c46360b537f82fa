package rotate

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/forge"
	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// BenchmarkFile writes small packets to one file without end, and to files of 8 MiB.
func BenchmarkFile(b *testing.B) {
	g := &forge.File{Order: binary.LittleEndian}
	g.PcapHeader(0xA1B23C4D, 4, 262144, 1)
	const packets = 7000
	for i := range uint32(packets) {
		g.Record(i, 0, make([]byte, 60), 60)
	}
	src, err := pcapfile.NewReader(bytes.NewReader(g.Bytes()), "bench", pcapfile.Options{ChunkSize: 1 << 20})
	if err != nil {
		b.Fatal(err)
	}
	defer src.Close()
	batch := &capture.Batch{}
	for len(batch.Frames) == 0 {
		if err := src.Next(batch); err != nil {
			b.Fatal(err)
		}
	}
	for _, size := range []int64{1 << 40, 8 << 20} {
		for _, word := range []uint64{0, 1 << 40, 0x5555555555555555, ^uint64(0)} {
			b.Run(fmt.Sprintf("size=%d/drop=%d", size, bits.OnesCount64(word)), func(b *testing.B) {
				r, err := New(filepath.Join(b.TempDir(), "out.pcap"),
					Options{Size: size, Every: 24 * time.Hour, Keep: 2, Output: outfile.Options{NoSync: true}})
				if err != nil {
					b.Fatal(err)
				}
				defer r.Discard()
				drop := slices.Repeat([]uint64{word}, (len(batch.Frames)+63)/64)
				b.SetBytes(int64(len(batch.Buf)))
				for b.Loop() {
					if err := r.Write(batch, drop); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(batch.Frames)), "ns/packet")
			})
		}
	}
}
