// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"fmt"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/dedup"
)

// A packet is a copy only if the table has an equal one, too. A table of 64 bytes has the last
// eight packets.
func ExampleConfig_verifyCopies() {
	d, err := dedup.New(dedup.Config{VerifyCopies: 64})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer d.Close()
	var b capture.Batch
	b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet})
	for i, name := range "aabcdefghijb" {
		b.Append(capture.Frame{Time: int64(i)}, []byte("\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02\x88\xb5 "+string(name)))
	}
	fmt.Printf("copies: %012b, unverified: %d\n", d.Copies(&b)[0], d.Stats().Unverified)
	// Output: copies: 000000000010, unverified: 1
}
