// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"context"
	"fmt"
	"log"
	"math/bits"
	"runtime"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/hold"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/capture/pipeline"
)

// discard is a writer for programs that only count.
type discard struct{}

func (discard) Write(*capture.Batch, []uint64) error { return nil }

// countCopies takes a capture of a router through a detector.
func countCopies(d *dedup.Detector) {
	src, err := pcapfile.Open("../../testdata/pcaps/router-vlan.pcapng", pcapfile.Options{})
	if err != nil {
		log.Fatal(err)
	}
	packets := pipeline.New(src)
	defer packets.Close()
	if err := packets.Run(context.Background(), runtime.NumCPU(), d.Tasks(discard{})); err != nil {
		log.Fatal(err)
	}
}

// A program reports what was found, as the command does.
func ExampleDetector_Stats() {
	detector, err := dedup.New(dedup.Config{Hold: hold.Config{Flow: true}})
	if err != nil {
		log.Fatal(err)
	}
	defer detector.Close()
	countCopies(detector)
	s := detector.Stats()
	fmt.Printf("%d of %d packets are copies, and %d of %d bytes\n", s.Copies, s.Packets, s.CopyBytes, s.Bytes)
	for p, copies := range s.CopiesByProtocol {
		if copies > 0 {
			fmt.Println(copies, headers.Protocol(p))
		}
	}
	fmt.Printf("filter: %s, %d forgotten too early\n", s.Method, s.EvictedLive)
	fmt.Println(s.NonIP, "without IP,", s.OutOfOrder, "out of order,", s.Undecidable, "undecidable")
	fmt.Println(s.Held.Early, "settled early for want of memory")
	// Output:
	// 878 of 1188 packets are copies, and 267139 of 358692 bytes
	// 56 icmp
	// 636 tcp
	// 120 udp
	// 62 icmpv6
	// 4 non_ip
	// filter: timed, 0 forgotten too early
	// 8 without IP, 32 out of order, 0 undecidable
	// 0 settled early for want of memory
}

// An observer sees each verdict where copies come from.
func ExampleObserver() {
	copies := map[string]int{}
	count := func(b *capture.Batch, drop []uint64) {
		for w, word := range drop {
			for ; word != 0; word &= word - 1 {
				f := &b.Frames[w*64+bits.TrailingZeros64(word)]
				copies[b.Interfaces[f.Interface].Name]++
			}
		}
	}
	detector, err := dedup.New(dedup.Config{Observers: []dedup.Observer{{Judged: count}}})
	if err != nil {
		log.Fatal(err)
	}
	defer detector.Close()
	countCopies(detector)
	fmt.Println(copies)
	// Output: map[trunk0:37 trunk1:274 vlan10:281 vlan20:286]
}
