// SPDX-License-Identifier: Apache-2.0

// Package split tells of how many conversations the kept packets come from more than one
// VLAN, tunnel or interface since their copies were removed. An analyzer that keys its
// flows by VLAN sees two one-sided flows in each of them. It looks at a sample of the
// packets. It neither decides what is a copy nor which of equal packets is kept.
//
// A [Counter] receives the batches of a stream in order, with the verdicts. It returns no
// errors, and its counts depend on the stream alone.
package split
