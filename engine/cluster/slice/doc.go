// SPDX-License-Identifier: Apache-2.0

// Package slice holds a slice of the filter that sites share: the packets whose digests
// belong to it, with the site that sent each and the time when the site saw it.
//
// A Slice is a deterministic function of the requests that it receives. So it can be
// saved and restored, or made again from a log of its requests, and answers the same. It
// uses no network and no clock.
//
// engine/window answers whether an element is a copy, but not which element it copies. A
// slice has to know the other site and its time, to show which sites see the same packets
// and to learn the differences of their clocks. So it has rows of its own, of whole
// digests.
package slice
