// SPDX-License-Identifier: Apache-2.0

package reassemble

import (
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
)

// BenchmarkPass takes batches without fragments, with tags, and with nothing but fragments of tunnels
// through a Joiner.
func BenchmarkPass(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	plain := packet(rng, 400)
	tagged := append([]byte(string(plain[:12])+"\x81\x00\x00\x07"), plain[12:]...)
	d := vxlan(4, 1, 1, packet(rng, 1514))
	for _, c := range []struct {
		name   string
		frames [][]byte
	}{{"plain", [][]byte{plain}}, {"tagged", [][]byte{tagged}}, {"fragments", d.fragments(1500)}} {
		b.Run(c.name, func(b *testing.B) {
			var made capture.Batch
			made.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet})
			for i := range 1000 {
				made.Append(capture.Frame{Time: int64(i)}, c.frames[i%len(c.frames)])
			}
			j, batch := New(nil), made
			batch.Frames = nil
			for b.Loop() {
				batch.Buf, batch.Frames, batch.Blocks = made.Buf, append(batch.Frames[:0], made.Frames...), batch.Blocks[:0]
				j.Pass(&batch, false)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(made.Frames)), "ns/packet")
		})
	}
}
