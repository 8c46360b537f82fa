package engine_test

import (
	"fmt"
	"log"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/distinct"
	"github.com/flowdedup/flowdedup/engine/secret"
	"github.com/flowdedup/flowdedup/engine/stream"
	"github.com/flowdedup/flowdedup/engine/window"
)

// sums digests texts under a new secret.
func sums(texts ...string) []digest.Digest {
	key, err := secret.Random()
	if err != nil {
		log.Fatal(err)
	}
	var text []byte
	var messages []digest.Message
	for _, t := range texts {
		messages = append(messages, digest.Message{Off: uint32(len(text)), Len: uint32(len(t))})
		text = append(text, t...)
	}
	digests := make([]digest.Digest, len(texts))
	digest.NewAES(key.AESKey(secret.Packets)).SumMessages(digests, text, messages)
	return digests
}

// Elements within a window: the third one comes too late to be a copy of the first.
func Example_window() {
	filter, err := window.NewTimed(window.TimedConfig{Window: window.Window{Duration: time.Millisecond}})
	if err != nil {
		log.Fatal(err)
	}
	defer filter.Close()
	digests := sums("packet", "packet", "packet", "another")
	times := []int64{0, 400_000, 1_500_000, 1_600_000} // nanoseconds
	seen := make([]uint64, 1)                          // a bit for each element
	filter.TestAndSet(seen, digests, times, nil)
	fmt.Printf("%04b\n", seen[0])
	// Output: 0010
}

// A stream without an end, in a megabyte.
func Example_stream() {
	filter, err := stream.New(stream.Config{Method: "lru", Memory: 1 << 20})
	if err != nil {
		log.Fatal(err)
	}
	defer filter.Close()
	seen := make([]uint64, 1)
	filter.TestAndSet(seen, sums("a", "b", "a", "c", "b"))
	fmt.Printf("%05b\n", seen[0])
	// Output: 10100
}

// Counting distinct IPv4 addresses, exactly.
func Example_distinct() {
	key, err := secret.Random()
	if err != nil {
		log.Fatal(err)
	}
	counter, err := distinct.NewIPv4Rows(key.AESKey(secret.Permutation), 1<<20)
	if err != nil {
		log.Fatal(err)
	}
	defer counter.Close()
	seen := make([]uint64, 1)
	counter.TestAndSet(seen, []uint32{0x0a000001, 0x0a000002, 0x0a000001})
	fmt.Println(counter.Counts().Distinct, "addresses")
	// Output: 2 addresses
}
