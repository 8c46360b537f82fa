// SPDX-License-Identifier: Apache-2.0

package strip

import (
	"fmt"
	"io"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// BenchmarkStrip writes packets with and without --strip, from and to memory.
func BenchmarkStrip(b *testing.B) {
	payload := make([]byte, 1400)
	packet := func(size int) []byte { return ip4(17, udp(53, payload[:size-28])) }
	for _, size := range []int{50, 1400} {
		p := packet(size)
		for _, c := range []struct {
			name    string
			headers Headers
			data    []byte
		}{
			{"none", 0, ether(t4, p)},
			{"vlan/plain", VLAN, ether(t4, p)},
			{"vlan/tagged", VLAN, ether(c10, t4, p)},
			{"all/plain", all, ether(t4, p)},
			{"all/tagged", all, ether(s20, c10, t4, p)},
			{"all/mpls", all, ether("\x88\x47", label, bottom, p)},
			{"all/vxlan", all, ether(t4, ip4(17, udp(4789, vni, ether(t4, p))))},
		} {
			b.Run(fmt.Sprintf("%s/size=%d", c.name, size), func(b *testing.B) { benchStrip(b, c.headers, c.data) })
		}
	}
}

func benchStrip(b *testing.B, headers Headers, data []byte) {
	source := &capture.Batch{}
	at := source.AppendInterface(capture.Interface{LinkType: eth})
	for len(source.Buf) < pcapfile.DefaultChunkSize {
		source.Append(capture.Frame{Interface: at}, data)
	}
	w := pcapfile.NewWriter(io.Discard, pcapfile.WriterOptions{Derived: headers&Tunnel != 0})
	s := New(Config{Headers: headers})
	batch := *source
	batch.Buf, batch.Frames = nil, nil
	b.SetBytes(int64(len(source.Buf)))
	for b.Loop() {
		b.StopTimer()
		batch.Buf, batch.Frames = append(batch.Buf[:0], source.Buf...), append(batch.Frames[:0], source.Frames...)
		b.StartTimer()
		out := &batch
		if headers != 0 {
			out = s.Strip(&batch, nil)
		}
		if err := w.Write(out, nil); err != nil {
			b.Fatal(err)
		}
		batch.Blocks = nil
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(source.Frames)), "ns/packet")
}
