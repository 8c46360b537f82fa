// SPDX-License-Identifier: Apache-2.0

package gopackets_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/gopackets"
)

// traffic is a capture in memory: what a router sees at both interfaces, over and over.
func traffic(b *testing.B) (content []byte, packets int) {
	var out bytes.Buffer
	w := pcapgo.NewWriterNanos(&out)
	if err := w.WriteFileHeader(1<<16, layers.LinkTypeEthernet); err != nil {
		b.Fatal(err)
	}
	all := fileOf(b, pcaps+"router-plain.pcapng")
	for round := range 50 {
		for _, p := range all {
			info := gopacket.CaptureInfo{
				Timestamp:     time.Unix(0, p.time).Add(time.Duration(round) * time.Hour),
				CaptureLength: len(p.data), Length: int(p.wire),
			}
			if err := w.WritePacket(info, []byte(p.data)); err != nil {
				b.Fatal(err)
			}
		}
	}
	return out.Bytes(), 50 * len(all)
}

// perPacket runs a benchmark that drains a handle, and reports nanoseconds a packet that
// was captured.
func perPacket(b *testing.B, content []byte, packets int, drain func(handle *pcapgo.Reader) error) {
	for b.Loop() {
		handle, err := pcapgo.NewReader(bytes.NewReader(content))
		if err != nil {
			b.Fatal(err)
		}
		if err := drain(handle); err != io.EOF {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*packets), "ns/packet")
	b.ReportMetric(0, "ns/op")
}

// reader is what pcapgo and Once have in common.
type reader interface {
	gopacket.PacketDataSource
	gopacket.ZeroCopyPacketDataSource
}

// BenchmarkOnce compares packets without duplicates with all of them: read without copies,
// read, and decoded by gopacket.
func BenchmarkOnce(b *testing.B) {
	content, packets := traffic(b)
	uses := []struct {
		name string
		next func(reader) func() error
	}{
		{"zerocopy", func(r reader) func() error {
			return func() error { _, _, err := r.ZeroCopyReadPacketData(); return err }
		}},
		{"read", func(r reader) func() error {
			return func() error { _, _, err := r.ReadPacketData(); return err }
		}},
		{"decode", func(r reader) func() error {
			src := gopacket.NewPacketSource(r, layers.LinkTypeEthernet)
			return func() error { _, err := src.NextPacket(); return err }
		}},
	}
	for _, use := range uses {
		drain := func(r reader) error {
			for next := use.next(r); ; {
				if err := next(); err != nil {
					return err
				}
			}
		}
		b.Run(use.name+"/all", func(b *testing.B) {
			perPacket(b, content, packets, func(h *pcapgo.Reader) error { return drain(h) })
		})
		for _, ahead := range []int{0, 512} {
			b.Run(fmt.Sprintf("%s/once/ahead=%d", use.name, ahead), func(b *testing.B) {
				perPacket(b, content, packets, func(h *pcapgo.Reader) error {
					once := gopackets.Once(h, gopackets.Config{Ahead: ahead})
					defer once.Close()
					return drain(once)
				})
			})
		}
	}
}

// BenchmarkSource compares a source of batches with the handle below it.
func BenchmarkSource(b *testing.B) {
	content, packets := traffic(b)
	b.Run("pcapgo", func(b *testing.B) {
		perPacket(b, content, packets, func(h *pcapgo.Reader) error {
			for {
				if _, _, err := h.ZeroCopyReadPacketData(); err != nil {
					return err
				}
			}
		})
	})
	b.Run("batches", func(b *testing.B) {
		perPacket(b, content, packets, func(h *pcapgo.Reader) error {
			src := gopackets.NewSource(h, gopackets.SourceConfig{})
			var batch capture.Batch
			for {
				if err := src.Next(&batch); err != nil {
					return err
				}
			}
		})
	})
}
