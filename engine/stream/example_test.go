// SPDX-License-Identifier: Apache-2.0

package stream_test

import (
	"fmt"
	"log"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/stream"
)

// A stream without an end, in a megabyte. The digests stand for the results of package
// digest.
func Example() {
	filter, err := stream.New(stream.Config{Method: "lru", Memory: 1 << 20})
	if err != nil {
		log.Fatal(err)
	}
	defer filter.Close()
	a, b := digest.Digest{0x1a79a4d60de6718e, 0x8e5b326e338ae533}, digest.Digest{0x92eb5ffee6ae2fec, 0x3ad71c777531578f}
	seen := make([]uint64, 1) // a bit for each element
	filter.TestAndSet(seen, []digest.Digest{a, b, a, a})
	fmt.Printf("%04b\n", seen[0])
	// Output: 1100
}

// Byte strings of a program's own, such as the names in requests to a DNS server.
func ExampleFilter_TestAndSet() {
	key, err := engine.RandomSecret()
	if err != nil {
		log.Fatal(err)
	}
	sum := digest.NewAES(key.AESKey(engine.UseOwn)) // this use, and those after it, are free
	filter, err := stream.New(stream.Config{Method: "lru", Memory: 1 << 20})
	if err != nil {
		log.Fatal(err)
	}
	defer filter.Close()

	names := []string{"example.org", "example.com", "example.org", "www.example.org"}
	var text []byte
	messages := make([]digest.Message, len(names))
	for i, name := range names {
		messages[i] = digest.Message{Off: uint32(len(text)), Len: uint32(len(name))}
		text = append(text, name...)
	}
	digests := make([]digest.Digest, len(names))
	sum.SumMessages(digests, text, messages)
	seen := make([]uint64, 1) // a bit for each name
	filter.TestAndSet(seen, digests)
	for i, name := range names {
		if seen[0]>>i&1 == 0 {
			fmt.Println(name)
		}
	}
	// Output:
	// example.org
	// example.com
	// www.example.org
}
