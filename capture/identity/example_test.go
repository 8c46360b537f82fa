// SPDX-License-Identifier: Apache-2.0

package identity_test

import (
	"fmt"
	"log"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/identity"
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
	for _, ignore := range []identity.Ignore{{}, identity.IgnoreOnly(0)} {
		ids := identity.New(identity.Config{Kind: identity.L3, Ignore: ignore})
		protocols, digests := make([]headers.Protocol, n), make([]digest.Digest, n)
		ids.FromFrames(protocols, b, 0).Sum(digests, digest.NewAES([16]byte{}))
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
