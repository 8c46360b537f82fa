package engine_test

import (
	"fmt"
	"log"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
)

// sums digests texts under a new secret.
func sums(texts ...string) []digest.Digest {
	key, err := engine.RandomSecret()
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
	digest.NewAES(key.AESKey(engine.KeyPackets)).SumMessages(digests, text, messages)
	return digests
}

// Elements within a window: the third one comes too late to be a copy of the first.
func ExampleTimed() {
	filter, err := engine.NewTimed(engine.TimedConfig{Window: engine.Window{Duration: time.Millisecond}})
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
func ExampleStream() {
	filter, err := engine.NewStream(engine.StreamConfig{Method: "lru", Memory: 1 << 20})
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
func ExampleExactV4() {
	secret, err := engine.RandomSecret()
	if err != nil {
		log.Fatal(err)
	}
	counter, err := engine.NewExactV4(secret.AESKey(engine.KeyBijection), 1<<20)
	if err != nil {
		log.Fatal(err)
	}
	defer counter.Close()
	seen := make([]uint64, 1)
	counter.TestAndSet(seen, []uint32{0x0a000001, 0x0a000002, 0x0a000001})
	fmt.Println(counter.Counts().Distinct, "addresses")
	// Output: 2 addresses
}
