// SPDX-License-Identifier: Apache-2.0

package sliding_test

import (
	"fmt"
	"log"
	"math"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/sliding"
)

// Distinct elements of the last minute. The digests stand for the results of package
// digest.
func Example() {
	counter, err := sliding.New(sliding.Config{Window: time.Minute, Step: time.Second})
	if err != nil {
		log.Fatal(err)
	}
	defer counter.Close()
	a, b := digest.Digest{0x1a79a4d60de6718e}, digest.Digest{0x92eb5ffee6ae2fec}
	at := func(second int64) int64 { return second * int64(time.Second) }
	counter.TestAndSet(nil, []digest.Digest{a, b, a, b}, []int64{at(0), at(10), at(50), math.MinInt64})
	for _, second := range []int64{59, 75, 120} {
		fmt.Println(counter.Count(at(second) - 1).Distinct)
	}
	fmt.Println(counter.Ignored(), "without a time")
	// Output:
	// 2
	// 1
	// 0
	// 1 without a time
}
