// SPDX-License-Identifier: Apache-2.0

package theory_test

import (
	"fmt"
	"log"

	"github.com/flowdedup/flowdedup/engine/theory"
)

// How many new elements a Bloom filter of 1 MiB calls seen after a million elements, and a
// stable Bloom filter of the same memory after any number.
func Example() {
	const bits = 8 << 20
	k, err := theory.BloomOptimalK(bits, 1_000_000)
	if err != nil {
		log.Fatal(err)
	}
	bloom, err := theory.BloomFPR(bits, k, 1_000_000)
	if err != nil {
		log.Fatal(err)
	}
	stable, err := theory.Stable{Cells: bits, K: 4, P: 7, Max: 1}.FPS()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d functions: %.4f, stable: %.4f\n", k, bloom, stable)
	// Output: 6 functions: 0.0178, stable: 0.0175
}
