// SPDX-License-Identifier: Apache-2.0

package flow_test

import (
	"fmt"
	"log"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/flow"
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

// Two packets have the same identity if they have the same digest. What routers change
// does not count, unless the configuration says so.
func ExampleIdentity() {
	b := first()
	n := len(b.Frames)
	for _, ignore := range []flow.Ignore{{}, flow.IgnoreOnly(0)} {
		identity := flow.NewIdentity(flow.IdentityConfig{Kind: flow.L3, Ignore: ignore})
		protocols, digests := make([]flow.Protocol, n), make([]digest.Digest, n)
		identity.FromFrames(protocols, b, 0).Sum(digests, digest.NewAES([16]byte{}))
		different := map[digest.Digest]bool{}
		for _, d := range digests {
			different[d] = true
		}
		fmt.Println(n, "packets,", len(different), "identities")
	}
	// Output:
	// 29 packets, 17 identities
	// 29 packets, 29 identities
}

// Keys are records of fixed size: here the address that each packet came from.
func ExampleKeyer() {
	b := first()
	keys := flow.NewKeyer([]flow.KeyConfig{{Kind: flow.Src}}, flow.DecoderConfig{}).FromFrames(b, 0, len(b.Frames))[0]
	different := map[uint32]bool{}
	for _, address := range keys.Addr4 {
		different[address] = true
	}
	fmt.Println(len(keys.Addr4), "IPv4 packets of", len(different), "sources,", len(keys.V6), "IPv6 packets")
	// Output: 25 IPv4 packets of 2 sources, 0 IPv6 packets
}
