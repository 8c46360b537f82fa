// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"fmt"
	"log"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/analysis/inspect"
)

// A program looks at a capture, and decides whether to remove copies.
func Example() {
	src, err := pcapfile.Open("../../../../../testdata/pcaps/router-plain.pcapng", pcapfile.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer src.Close()
	n := inspect.New(inspect.Config{})
	defer n.Close()
	p := n.NewBatch()
	var b capture.Batch
	for src.Next(&b) == nil {
		p.Prepare(&b)
		n.Add(p, &b)
	}
	r := n.Report()
	fmt.Println(r.Packets, r.Copies, r.Kinds)
	fmt.Println(r.Recommendation.Dedup, r.Recommendation.Identity, r.Recommendation.Window, r.Recommendation.Keep)
	// Output:
	// 612 293 map[mac+ttl+interface:293]
	// true l3 1ms flow
}
