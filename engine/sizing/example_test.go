// SPDX-License-Identifier: Apache-2.0

package sizing_test

import (
	"fmt"
	"log"

	"github.com/flowdedup/flowdedup/engine/sizing"
)

// Which filter finds the copies among the last million packets, and in how much memory?
func ExamplePlan() {
	answer, err := sizing.Plan(sizing.Question{Kind: sizing.Count, Elements: 1e6, FPR: 1e-6})
	if err != nil {
		log.Fatal(err)
	}
	best := answer.Recommended
	fmt.Printf("%s: %d MiB, FPR %.0e, FNR %.0e\n", best.Method.Title, best.Bits>>23, best.FPR, best.FNR)
	// Output: rows with coarse times: 7 MiB, FPR 1e-06, FNR 3e-05
}
