// SPDX-License-Identifier: Apache-2.0

package theory_test

import (
	"fmt"
	"log"

	"github.com/flowdedup/flowdedup/engine/theory"
)

// How many new elements a stable Bloom filter of 1 MiB calls seen after any number of elements, and how
// many elements it misses that come again after half a million others.
func Example() {
	filter := theory.Stable{Cells: 8 << 20, K: 4, P: 7, Max: 1}
	seen, err := filter.FPS()
	if err != nil {
		log.Fatal(err)
	}
	missed, err := filter.FNR(500_000)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("seen: %.4f, missed: %.4f\n", seen, missed)
	// Output: seen: 0.0175, missed: 0.7681
}
