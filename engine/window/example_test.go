package window_test

import (
	"fmt"
	"log"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/secret"
	"github.com/flowdedup/flowdedup/engine/window"
)

// Four packets within two milliseconds. The third comes too late to be a copy of the
// first.
func Example() {
	key, err := secret.Random()
	if err != nil {
		log.Fatal(err)
	}
	text := []byte("packetpacketpacketother")
	messages := []digest.Message{{Off: 0, Len: 6}, {Off: 6, Len: 6}, {Off: 12, Len: 6}, {Off: 18, Len: 5}}
	digests := make([]digest.Digest, len(messages))
	digest.NewAES(key.AESKey(secret.Packets)).SumMessages(digests, text, messages)

	filter, err := window.NewTimed(window.TimedConfig{Window: window.Window{Duration: time.Millisecond}})
	if err != nil {
		log.Fatal(err)
	}
	defer filter.Close()
	times := []int64{0, 400_000, 1_500_000, 1_600_000} // nanoseconds
	seen := make([]uint64, 1)                          // a bit for each packet
	filter.TestAndSet(seen, digests, times, nil)
	fmt.Printf("%04b\n", seen[0])
	// Output: 0010
}
