// SPDX-License-Identifier: Apache-2.0

package keys_test

import (
	"fmt"
	"log"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/keys"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// first returns the first packets of a capture at both interfaces of a router.
func first() *capture.Batch {
	src, err := pcapfile.Open("../../testdata/pcaps/router-plain.pcapng", pcapfile.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer src.Close()
	var b capture.Batch
	if err := src.Next(&b); err != nil {
		log.Fatal(err)
	}
	return &b
}

// Keys are records of fixed size: here the address that each packet came from.
func ExampleKeyer() {
	b := first()
	made := keys.NewKeyer([]keys.Config{{Kind: keys.Src}}, headers.DecoderConfig{}).FromFrames(b, 0, len(b.Frames))[0]
	different := map[uint32]bool{}
	for _, address := range made.Addr4 {
		different[address] = true
	}
	fmt.Println(len(made.Addr4), "IPv4 packets of", len(different), "sources,", len(made.V6), "IPv6 packets")
	// Output: 25 IPv4 packets of 2 sources, 0 IPv6 packets
}
