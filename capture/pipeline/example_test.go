// SPDX-License-Identifier: Apache-2.0

package pipeline_test

import (
	"context"
	"fmt"
	"log"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/capture/pipeline"
)

// counting is the work on a batch: what it takes most time for goes into Prepare.
type counting struct {
	octets int  // of the batch
	all    *int // of all batches
}

func (c *counting) Prepare(b *capture.Batch) {
	c.octets = 0
	for i := range b.Frames {
		c.octets += len(b.Data(i))
	}
}

func (c *counting) Judge(*capture.Batch) error {
	*c.all += c.octets // batch after batch, so without a lock
	return nil
}

func (c *counting) Write(*capture.Batch) error { return nil }

// Four workers share the batches of a file.
func Example() {
	src, err := pcapfile.Open("../../testdata/pcaps/router-plain.pcapng", pcapfile.Options{ChunkSize: 16 << 10})
	if err != nil {
		log.Fatal(err)
	}
	packets := pipeline.New(src)
	defer packets.Close()
	all := 0
	if err := packets.Run(context.Background(), 4, func() pipeline.Task { return &counting{all: &all} }); err != nil {
		log.Fatal(err)
	}
	fmt.Println(all, "bytes")
	// Output: 179730 bytes
}
