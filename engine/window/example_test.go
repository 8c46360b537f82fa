// SPDX-License-Identifier: Apache-2.0

package window_test

import (
	"fmt"
	"log"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/window"
)

// Four packets within two milliseconds. The third comes too late to be a copy of the
// first.
func Example() {
	key, err := engine.RandomSecret()
	if err != nil {
		log.Fatal(err)
	}
	text := []byte("packetpacketpacketother")
	messages := []digest.Message{{Off: 0, Len: 6}, {Off: 6, Len: 6}, {Off: 12, Len: 6}, {Off: 18, Len: 5}}
	digests := make([]digest.Digest, len(messages))
	digest.NewAES(key.AESKey(engine.UsePackets)).SumMessages(digests, text, messages)

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

// Byte strings of a program's own within a window, such as log lines that two relays
// forward: a line that comes again within a second is a copy.
func ExampleTimed_TestAndSet() {
	key, err := engine.RandomSecret()
	if err != nil {
		log.Fatal(err)
	}
	const logLines = engine.UseOwn // this use, and those after it, are free
	sum := digest.NewAES(key.AESKey(logLines))
	filter, err := window.NewTimed(window.TimedConfig{Window: window.Window{Duration: time.Second}})
	if err != nil {
		log.Fatal(err)
	}
	defer filter.Close()

	lines := []string{"link down", "link up", "link down", "link down"}
	times := []time.Duration{0, 300 * time.Millisecond, 400 * time.Millisecond, 1500 * time.Millisecond}
	var text []byte
	messages, nanoseconds := make([]digest.Message, len(lines)), make([]int64, len(lines))
	for i, line := range lines {
		messages[i] = digest.Message{Off: uint32(len(text)), Len: uint32(len(line))}
		text = append(text, line...)
		nanoseconds[i] = int64(times[i])
	}
	digests := make([]digest.Digest, len(lines))
	sum.SumMessages(digests, text, messages)
	seen := make([]uint64, 1)                          // a bit for each line
	filter.TestAndSet(seen, digests, nanoseconds, nil) // points are only for Across
	for i, line := range lines {
		if seen[0]>>i&1 == 0 {
			fmt.Println(times[i], line)
		}
	}
	// Output:
	// 0s link down
	// 300ms link up
	// 1.5s link down
}
