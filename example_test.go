// SPDX-License-Identifier: Apache-2.0

package flowdedup_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/flowdedup/flowdedup"
	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/keys"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/engine"
)

// A router sees each packet at two interfaces. The output has it once.
func ExampleDedup() {
	in, err := os.Open("testdata/pcaps/router-plain.pcapng")
	if err != nil {
		log.Fatal(err)
	}
	defer in.Close()
	var out bytes.Buffer // or a file
	stats, err := flowdedup.Dedup(context.Background(), &out, in)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(stats.Copies, "of", stats.Packets, "packets are copies")
	// Output: 293 of 612 packets are copies
}

// Options add up. A function of one's own reaches settings that have no option.
func ExampleOption() {
	in, err := os.Open("testdata/pcaps/mirror-vxlan.pcap")
	if err != nil {
		log.Fatal(err)
	}
	defer in.Close()
	var out bytes.Buffer
	intact := func(c *dedup.Config) { c.Hold.Intact = true }
	stats, err := flowdedup.Dedup(context.Background(), &out, in, flowdedup.Inner(), flowdedup.Window(10*time.Millisecond), intact)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(stats.Copies, "of", stats.Packets)
	// Output: 40 of 610
}

// With Across only a packet that another interface saw, too, is a copy.
func ExampleAcross() {
	in, err := os.Open("testdata/pcaps/router-vlan.pcapng")
	if err != nil {
		log.Fatal(err)
	}
	defer in.Close()
	var out bytes.Buffer
	stats, err := flowdedup.Dedup(context.Background(), &out, in, flowdedup.Across(), flowdedup.Window(time.Second))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(stats.Copies, "of", stats.Packets)
	// Output: 878 of 1188
}

// Log lines that two relays forward: a line that comes again within a second is a repeat.
func ExampleSeen() {
	seen, err := flowdedup.NewSeen(flowdedup.SeenConfig{Window: time.Second})
	if err != nil {
		log.Fatal(err)
	}
	defer seen.Close()
	noon := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	for _, line := range []struct {
		after time.Duration
		text  string
	}{{0, "link down"}, {300 * time.Millisecond, "link up"}, {400 * time.Millisecond, "link down"}, {1500 * time.Millisecond, "link down"}} {
		if !seen.TestAndSet([]byte(line.text), noon.Add(line.after)) {
			fmt.Println(line.after, line.text)
		}
	}
	// Output:
	// 0s link down
	// 300ms link up
	// 1.5s link down
}

// Without a window items are remembered as long as there is memory, and times do not matter. With a
// Secret of its own a program finds the same repeats in each run.
func ExampleSeen_AppendSeen() {
	key, err := engine.ParseSecret("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f")
	if err != nil {
		log.Fatal(err)
	}
	seen, err := flowdedup.NewSeen(flowdedup.SeenConfig{Memory: 1 << 20, FPR: 1e-6, Secret: key})
	if err != nil {
		log.Fatal(err)
	}
	defer seen.Close()
	names := [][]byte{[]byte("example.org"), []byte("example.com"), []byte("example.org")}
	fmt.Println(seen.AppendSeen(nil, names, nil))
	fmt.Println(seen.Stats().MemoryBytes>>20, "MiB")
	// Output:
	// [false false true]
	// 1 MiB
}

// How many addresses send in each hour, by the clock of Berlin.
func ExampleDistinct() {
	src, err := pcapfile.Open("testdata/pcaps/router-plain.pcapng", pcapfile.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer src.Close()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		log.Fatal(err)
	}
	hours := flowdedup.DistinctConfig{Every: time.Hour, Location: berlin, Of: []keys.Config{{Kind: keys.Src}, {Kind: keys.Flow}}, Memory: 64 << 20}
	err = flowdedup.Distinct(context.Background(), src, hours, func(c flowdedup.Count) error {
		fmt.Println(c.Start.Format("15:04"), c.End.Format("15:04"), c.Key, c.Family, c.Distinct, "in", c.Packets, "packets")
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// 07:00 08:00 src ipv4 3 in 302 packets
	// 07:00 08:00 src ipv6 5 in 306 packets
	// 07:00 08:00 src all 8 in 608 packets
	// 07:00 08:00 flow ipv4 33 in 302 packets
	// 07:00 08:00 flow ipv6 38 in 306 packets
	// 07:00 08:00 flow all 71 in 608 packets
}

// Impossible settings are one error.
func Example_errConfig() {
	_, err := flowdedup.NewSeen(flowdedup.SeenConfig{Window: -time.Second})
	fmt.Println(errors.Is(err, flowdedup.ErrConfig), err)
	// Output: true bad window: duration -1s, 0 packets, none false
}
