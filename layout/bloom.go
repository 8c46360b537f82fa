// SPDX-License-Identifier: Apache-2.0

package layout

// A line of a blocked Bloom filter is 512 bits. An element owns one bit of each word in
// each round: 8 bits with one round, 64 with eight. Apache Parquet lays out its split
// block Bloom filters so, with lines of 256 bits.
//
//	word     0       1       2       3       4       5       6       7
//	     ┌───────┬───────┬───────┬───────┬───────┬───────┬───────┬───────┐
//	     │··1····│·····1·│1······│···1···│······1│··1····│1······│····1··│ one element, 1 round
//	     └───────┴───────┴───────┴───────┴───────┴───────┴───────┴───────┘
//
// A line has no fixed capacity: the more elements share it, the more others look seen.
// engine/theory computes the false positive rate.

// MaxBloomRounds is the most rounds that an element can have.
const MaxBloomRounds = 8
