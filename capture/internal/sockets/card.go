// SPDX-License-Identifier: Apache-2.0

package sockets

import (
	"fmt"
	"strings"
)

// CardCounts has what an interface lost before any socket: how much each of its own counters grew
// since the capture began.
type CardCounts [len(cardCounters)]uint64

// The first counters are in struct rtnl_link_stats64 (linux/if_link.h).
const (
	rxDropped = iota
	rxMissed
	rxFIFO
	rxOver
	rxNoHandler
	ofDrivers // the first counter that only drivers have
)

// cardCounters are the counters that are read. Other names of drivers repeat these, such as
// rx_out_of_buffer (mlx5), rx_queue_0_drops (igb, virtio_net, veth) or rx_dropped.nic (ice).
var cardCounters = [...]struct {
	name string
	// at is the place in struct rtnl_link_stats64.
	at int
	// noLoss says that the packets were not lost for a capture: they were received elsewhere
	// (rx_nohandler), waited in the card (rx_no_buffer_count) or were shaped.
	noLoss bool
}{
	rxDropped:                     {name: "rx_dropped", at: 6},
	rxMissed:                      {name: "rx_missed_errors", at: 15},
	rxFIFO:                        {name: "rx_fifo_errors", at: 14},
	rxOver:                        {name: "rx_over_errors", at: 11},
	rxNoHandler:                   {name: "rx_nohandler", at: 23, noLoss: true},
	ofDrivers:                     {name: "rx_discards_phy"}, // mlx5; recent kernels have it in rx_dropped too
	{name: "port.rx_dropped"},     // i40e
	{name: "rx_no_dma_resources"}, // ixgbe
	{name: "rx_no_buffer_count", noLoss: true},
	{name: "bw_in_allowance_exceeded", noLoss: true}, // ena
	{name: "pps_allowance_exceeded", noLoss: true},
}

// Lost returns how many packets were lost at least. The kernel defines rx_dropped and
// rx_missed_errors as parts of a sum. Drivers may count the same loss in any other counter
// again, so only the largest number counts.
func (c *CardCounts) Lost() uint64 {
	most := c[rxDropped] + c[rxMissed]
	for i, n := range c {
		if !cardCounters[i].noLoss {
			most = max(most, n)
		}
	}
	return most
}

// Named returns the counters that grew, by their names at the kernel or the driver; nil if none
// did.
func (c *CardCounts) Named() map[string]uint64 {
	var named map[string]uint64
	for i, n := range c {
		if n > 0 {
			if named == nil {
				named = map[string]uint64{}
			}
			named[cardCounters[i].name] = n
		}
	}
	return named
}

// String returns the counters that grew, in words.
func (c CardCounts) String() string {
	var words []string
	for i, n := range c {
		if n > 0 {
			words = append(words, fmt.Sprintf("%s %d", cardCounters[i].name, n))
		}
	}
	return strings.Join(words, ", ")
}

// card adds up how much the counters of an interface grow.
type card struct {
	index int // the interface that last is of; 0 before the first time
	last  CardCounts
	grown CardCounts
	lost  CardCounts // of grown, without what counts elsewhere
}

// add takes the values of the counters now. own is how many packets a capture has delivered or counted
// by now that rx_dropped counts, too. As packets wait before they are delivered, what the counter has
// grown by last time is compared with it, and only in the end all that it has grown by.
func (c *card) add(index int, now *CardCounts, own uint64, ended bool) {
	if index != c.index {
		c.index, c.last = index, *now
	}
	dropped := c.grown[rxDropped]
	for i := range now {
		c.grown[i] += increase(c.last[i], now[i])
	}
	if c.last = *now; ended {
		dropped = c.grown[rxDropped]
	}
	dropped = max(c.lost[rxDropped], dropped-min(dropped, own))
	c.lost = c.grown
	c.lost[rxDropped] = dropped
}

// increase returns by how much a counter grew. A counter of 32 bits wraps. A driver that is
// reset, or that has fewer queues, counts from a lower value on: what it lost meanwhile is unknown.
func increase(before, now uint64) uint64 {
	const wrap = 1 << 32
	switch {
	case now >= before:
		return now - before
	case before < wrap && before > wrap/4*3 && now < wrap/4:
		return now + wrap - before
	}
	return 0
}
