// SPDX-License-Identifier: Apache-2.0

package traits_test

import (
	"fmt"
	"io"
	"log"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/capture/traits"
)

// A router forwards packets from one VLAN to another, and both are captured. The output has
// all packets. In Wireshark, the copies have comments.
func Example() {
	src, err := pcapfile.Open("../../testdata/pcaps/router-vlan.pcapng", pcapfile.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer src.Close()
	detector, err := dedup.New(dedup.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer detector.Close()
	packets := detector.NewBatchDetector()
	marker := traits.NewMarker(traits.MarkerConfig{Decoder: headers.NewDecoder(headers.DecoderConfig{}), Inputs: src.Inputs()})
	w := pcapfile.NewWriter(io.Discard, pcapfile.WriterOptions{Commented: true}) // in place of a file

	var b capture.Batch
	written := 0
	for err = src.Next(&b); err == nil; err = src.Next(&b) {
		packets.Prepare(&b)
		copies := packets.Judge(&b)
		marked, _ := marker.Mark(&b, packets.Digests(), copies, nil, nil)
		if err := w.Write(marked, nil); err != nil {
			log.Fatal(err)
		}
		for i := range marked.Frames {
			if packet := written + i + 1; packet == 230 {
				fmt.Printf("packet %d: %s\n", packet, marked.Comments.Of(i))
			}
		}
		written += len(marked.Frames)
	}
	if err != io.EOF {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	fmt.Println(written, "packets")
	// Output:
	// packet 230: copy of packet 53, 0.005 ms later, VLAN 10 -> 20, TTL 64 -> 63, interface trunk0 -> trunk1, MAC
	// 1188 packets
}
