// SPDX-License-Identifier: Apache-2.0

package paper_test

import (
	"fmt"
	"log"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/paper"
)

// Three elements, the last of which came before. Experiments hash elements with a fixed key.
func Example() {
	filter, err := paper.NewBSBF(paper.BiasedConfig{Bits: 1 << 16, K: 2, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	elements := []string{"10.0.0.1", "10.0.0.2", "10.0.0.1"}
	text, messages := []byte("10.0.0.110.0.0.210.0.0.1"), []digest.Message{{Off: 0, Len: 8}, {Off: 8, Len: 8}, {Off: 16, Len: 8}}
	digests := make([]digest.Digest, len(elements))
	digest.NewAES([16]byte{}).SumMessages(digests, text, messages)
	for i, element := range elements {
		fmt.Println(element, filter.TestAndSet(digests[i]))
	}
	// Output:
	// 10.0.0.1 false
	// 10.0.0.2 false
	// 10.0.0.1 true
}
