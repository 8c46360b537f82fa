// SPDX-License-Identifier: Apache-2.0

// Package workload writes synthetic captures of any size with a known answer: the share
// and the kinds of the copies, and the numbers of different sources, destinations and
// flows of each hour. A separate list has the original of each copy.
//
// The traffic is simple on purpose: independent packets, evenly spread over time, of
// flows whose popularity follows Zipf's law. It serves to measure speed and to check
// counts. It does not model real networks.
package workload
