// SPDX-License-Identifier: Apache-2.0

package distinct_test

import (
	"fmt"
	"log"
	"time"

	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/distinct"
)

// Distinct IPv4 addresses, exactly.
func Example() {
	key, err := engine.RandomSecret()
	if err != nil {
		log.Fatal(err)
	}
	counter, err := distinct.NewIPv4Rows(key.AESKey(engine.UsePermutation), 1<<20)
	if err != nil {
		log.Fatal(err)
	}
	defer counter.Close()
	seen := make([]uint64, 1) // a bit for each address
	counter.TestAndSet(seen, []uint32{0x0a000001, 0x0a000002, 0x0a000001})
	fmt.Printf("%d addresses, %03b came before\n", counter.Counts().Distinct, seen[0])
	// Output: 2 addresses, 100 came before
}

// Distinct IPv4 addresses of each hour. The last but one comes late, and counts in its hour.
func ExampleIPv4Rows_hourly() {
	key, err := engine.RandomSecret()
	if err != nil {
		log.Fatal(err)
	}
	hours := calendar.NewStream(calendar.StreamConfig[distinct.IPv4Rows]{
		Calendar: calendar.Calendar{Every: time.Hour},
		Open: func(_, _ int64) *distinct.IPv4Rows {
			counter, err := distinct.NewIPv4Rows(key.AESKey(engine.UsePermutation), 1<<20)
			if err != nil {
				log.Fatal(err)
			}
			return counter
		},
		Close: func(start, _ int64, counter *distinct.IPv4Rows) {
			fmt.Println(time.Unix(0, start).UTC().Format("15:04"), counter.Counts().Distinct, "addresses")
			counter.Close()
		},
	})
	minute := int64(time.Minute)
	times := []int64{50 * minute, 55 * minute, 61 * minute, 59 * minute, 62 * minute}
	addresses := []uint32{0x0a000001, 0x0a000001, 0x0a000001, 0x0a000002, 0x0a000001}
	for len(times) > 0 {
		n, counter := hours.Run(times) // the first n belong to one hour
		if counter != nil {            // else they came after their hour was closed
			counter.TestAndSet(make([]uint64, (n+63)/64), addresses[:n])
		}
		times, addresses = times[n:], addresses[n:]
	}
	hours.Close()
	// Output:
	// 00:00 2 addresses
	// 01:00 1 addresses
}
