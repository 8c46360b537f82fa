// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"bytes"
	"fmt"
	"log"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/snapshot"
	"github.com/flowdedup/flowdedup/engine/stream"
)

// A filter is saved, and another one continues with its content.
func Example() {
	filter, err := stream.New(stream.Config{Memory: 1 << 20})
	if err != nil {
		log.Fatal(err)
	}
	defer filter.Close()
	element, seen := []digest.Digest{{0x1a79a4d60de6718e, 0x8e5b326e338ae533}}, make([]uint64, 1)
	filter.TestAndSet(seen, element)

	key := engine.Secret{1, 2, 3} // the secret of the digests
	var file bytes.Buffer
	if err := filter.Snapshot(&file, key, "flow, aes"); err != nil {
		log.Fatal(err)
	}
	restored, err := stream.Restore(&file, snapshot.RestoreConfig{Secret: key, Label: "flow, aes"})
	if err != nil {
		log.Fatal(err)
	}
	defer restored.Close()
	restored.TestAndSet(seen, element)
	fmt.Println(seen[0] == 1)
	// Output: true
}

// A filter is copied as it is now, while it goes on.
func ExampleCopy() {
	filter, err := stream.New(stream.Config{Memory: 1 << 20})
	if err != nil {
		log.Fatal(err)
	}
	defer filter.Close()
	var c snapshot.Copy
	defer c.Close()
	if err := filter.Snapshot(&c, engine.Secret{1, 2, 3}, "flow, aes"); err != nil {
		log.Fatal(err)
	}
	if err := c.Reserve(c.Lines(), func() bool { return false }); err != nil {
		log.Fatal(err)
	}
	c.Start()
	seen := make([]uint64, 1)
	for done := false; !done; done = c.Copy(0) {
		filter.TestAndSet(seen, []digest.Digest{{0x1a79a4d60de6718e, 0x8e5b326e338ae533}})
	}
	var file bytes.Buffer
	if _, err := c.WriteTo(&file); err != nil { // in another goroutine, if need be
		log.Fatal(err)
	}
	restored, err := stream.Restore(&file, snapshot.RestoreConfig{Secret: engine.Secret{1, 2, 3}, Label: "flow, aes"})
	if err != nil {
		log.Fatal(err)
	}
	defer restored.Close()
	fmt.Println(restored.Stats().Elements, "elements when the copy began")
	// Output: 0 elements when the copy began
}
