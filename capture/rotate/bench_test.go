package rotate

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
	"github.com/flowdedup/flowdedup/capture/internal/forge"
	"github.com/flowdedup/flowdedup/capture/outfile"
)

// BenchmarkFile writes small packets to one file without end, and to files of 8 MiB.
func BenchmarkFile(b *testing.B) {
	batch := capturetest.WholeBatch(b, source(b, forge.SmallPackets().Bytes(), "bench"))
	for _, size := range []int64{1 << 40, 8 << 20} {
		for _, d := range capturetest.BenchDrops {
			b.Run(fmt.Sprintf("size=%d/%s", size, d.Name), func(b *testing.B) {
				r, err := New(filepath.Join(b.TempDir(), "out.pcap"),
					Options{Size: size, Every: 24 * time.Hour, Keep: 2, Output: outfile.Options{NoSync: true}})
				if err != nil {
					b.Fatal(err)
				}
				defer r.Discard()
				capturetest.BenchWriter(b, batch, r, d.Word)
			})
		}
	}
}
