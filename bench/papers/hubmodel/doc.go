// SPDX-License-Identifier: Apache-2.0

// Command hubmodel simulates a hub beyond the machines at hand: 400 Gbit/s at 40 sites,
// 64 slices on 8 nodes, with a node that is lost:
//
//	hubmodel [-seed N] [-svg FILE]
//
// It prints tables, and draws the delay of verdicts. The same seed gives the same result.
//
// The costs of a message and a digest at a node are measured (flags -message and
// -digest). A site behaves as engine/hubclient does: it sends the digests collected for a
// slice after 5 ms, has at most 8 requests to a slice under way, gives up after 20 ms,
// and after three failures in a row passes packets at once, except for one request each
// half second. A node has cores, and serves each slice by one of them at a time, first
// come first served.
package main
