// SPDX-License-Identifier: Apache-2.0

package layout

// A line of an age-partitioned Bloom filter has 60 slices of eight bits, and a clock.
// Slice s is byte s of the line.
//
//	byte      0     1     2                       59    60        63
//	       ┌─────┬─────┬─────┬─────    ──┬─────┬─────┬─────────────┐
//	       │  0  │  1  │  2  │  3     …  │ 58  │ 59  │ clock: 32   │
//	       └─────┴─────┴─────┴─────    ──┴─────┴─────┴─────────────┘
//
// The clock is the latest generation of the line's elements, modulo 2^32. Slice g mod 60
// was begun in generation g, so the slices are a ring. Those of generations that have
// begun since the clock are stale, and count as empty.
const (
	// PartitionedSlices is the number of slices of a line.
	PartitionedSlices = 60
	// MaxPartitionedK is the greatest number of slices that an element is set in.
	MaxPartitionedK = 32
)
