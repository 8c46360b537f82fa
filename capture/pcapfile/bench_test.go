// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
	"github.com/flowdedup/flowdedup/capture/outfile"
)

// packets64 returns a capture of n packets of 64 bytes, a microsecond apart.
func packets64(f capture.Format, n int) []byte {
	order := binary.LittleEndian
	var out []byte
	if f == capture.FormatPcap {
		out = capturetest.PcapHeader(order, magicMicroseconds, 2, 4, 0, 1)
	} else {
		out = append(capturetest.SectionBlock(order, 1, 0), capturetest.InterfaceBlock(order, 1, 0)...)
	}
	data := make([]byte, 64)
	for i := range n {
		if f == capture.FormatPcap {
			out = append(capturetest.PcapRecord(out, order, uint32(i/1e6), uint32(i%1e6), 64, 64), data...)
		} else {
			out = append(out, capturetest.PacketBlock(order, 0, uint64(i), 64, data)...)
		}
	}
	return out
}

// BenchmarkRead reads a file of 64-byte packets from the page cache.
func BenchmarkRead(b *testing.B) {
	const packets = 1 << 20
	for _, f := range []capture.Format{capture.FormatPcap, capture.FormatPcapNG} {
		data := packets64(f, packets)
		name := filepath.Join(b.TempDir(), "small")
		if err := os.WriteFile(name, data, 0o600); err != nil {
			b.Fatal(err)
		}
		for _, chunk := range []int{64 << 10, DefaultChunkSize, 512 << 10, 1 << 20, 4 << 20} {
			b.Run(fmt.Sprintf("format=%s/chunk=%dK", f, chunk>>10), func(b *testing.B) {
				b.SetBytes(int64(len(data)))
				var batch capture.Batch
				for b.Loop() {
					src, err := Open(name, Options{ChunkSize: chunk})
					if err != nil {
						b.Fatal(err)
					}
					n := 0
					for err = src.Next(&batch); err == nil; err = src.Next(&batch) {
						n += len(batch.Frames)
						for i := range batch.Frames {
							n += int(batch.Buf[batch.Frames[i].Data]) // 0: so that each packet is touched
						}
					}
					if err != io.EOF || n != packets {
						b.Fatal(n, err)
					}
				}
				b.ReportMetric(float64(b.N)*packets/b.Elapsed().Seconds()/1e6, "Mpackets/s")
			})
		}
	}
}

// BenchmarkWalk finds records in memory, without reading.
func BenchmarkWalk(b *testing.B) {
	const packets = 6000 // about one chunk
	for _, f := range []capture.Format{capture.FormatPcap, capture.FormatPcapNG} {
		b.Run(fmt.Sprintf("format=%s", f), func(b *testing.B) {
			data := packets64(f, packets)
			fm := recognize(data, func(int, error) {})
			if _, err := fm.header(data); err != nil {
				b.Fatal(err)
			}
			start := PcapHeaderLen
			if f == capture.FormatPcapNG {
				start = encoding.MinSectionLen
			}
			batch := capture.Batch{Buf: data}
			if _, _, err := fm.parse(&batch, false); err != nil { // delivers the headers
				b.Fatal(err)
			}
			b.SetBytes(int64(len(data)))
			if f == capture.FormatPcapNG {
				start += encoding.MinInterfaceLen
			}
			for b.Loop() {
				batch.Reset()
				batch.Buf = data[start:]
				if _, _, err := fm.parse(&batch, false); err != nil || len(batch.Frames) != packets {
					b.Fatal(len(batch.Frames), err)
				}
			}
			b.ReportMetric(float64(b.N)*packets/b.Elapsed().Seconds()/1e6, "Mpackets/s")
		})
	}
}

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
