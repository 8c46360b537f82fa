// SPDX-License-Identifier: Apache-2.0

package headers_test

import (
	"fmt"
	"log"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// A mirrored packet in VXLAN: all its headers, and the datagram inside.
func Example() {
	src, err := pcapfile.Open("../../testdata/pcaps/mirror-vxlan.pcap", pcapfile.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer src.Close()
	var b capture.Batch
	if err := src.Next(&b); err != nil {
		log.Fatal(err)
	}
	d := headers.NewDecoder(headers.DecoderConfig{Inner: true})
	for _, layer := range d.Layers(nil, &b, 0) {
		fmt.Println(layer.Kind, "from byte", layer.Start, "to", layer.End)
	}
	// Output:
	// ethernet from byte 0 to 92
	// ip from byte 14 to 92
	// vxlan from byte 42 to 50
	// ethernet from byte 50 to 92
}
