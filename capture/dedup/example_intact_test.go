// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"runtime"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/hold"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/capture/pipeline"
)

// checked is a writer that counts packets by what their checksums are.
type checked struct{ counts map[identity.Integrity]int }

// Write counts the packets that stay.
func (w *checked) Write(b *capture.Batch, drop []uint64) error {
	decoded := make([]headers.Header, len(b.Frames))
	headers.NewDecoder(headers.DecoderConfig{Inner: true}).Decode(decoded, b, 0)
	for i := range decoded {
		if !capture.IsSet(drop, i) {
			w.counts[identity.IntegrityOf(&decoded[i], b, i)]++
		}
	}
	return nil
}

// A mirror of both ends shows packets before a network card has filled in their checksums, and
// after. With Intact the packets with the right checksums stay.
func ExampleConfig_intact() {
	for _, intact := range []bool{false, true} {
		src, err := pcapfile.Open("../../testdata/pcaps/mirror-vxlan.pcap", pcapfile.Options{})
		if err != nil {
			log.Fatal(err)
		}
		packets := pipeline.New(src)
		detector, err := dedup.New(dedup.Config{
			Identity: identity.Config{Kind: identity.Inner, Ignore: identity.IgnoreAlso(identity.L4Checksum)}, Hold: hold.Config{Intact: intact},
		})
		if err != nil {
			log.Fatal(err)
		}
		w := checked{counts: map[identity.Integrity]int{}}
		if err := packets.Run(context.Background(), runtime.NumCPU(), detector.Tasks(&w)); err != nil {
			log.Fatal(err)
		}
		fmt.Println(w.counts[identity.WrongChecksum], "wrong checksums,", w.counts[identity.ValidChecksum], "right ones")
		if err := errors.Join(packets.Close(), detector.Close()); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// 236 wrong checksums, 42 right ones
	// 0 wrong checksums, 278 right ones
}
