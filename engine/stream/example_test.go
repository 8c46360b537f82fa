package stream_test

import (
	"fmt"
	"log"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/stream"
)

// A stream without an end, in a megabyte. The digests stand for what package digest makes
// of elements.
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
