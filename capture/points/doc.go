// SPDX-License-Identifier: Apache-2.0

// Package points names the points at which packets are captured, and counts copies by the
// points of both packets, with their delays. A point is an interface with the VLAN tags,
// the tunnels and the redundant path of a packet.
//
// [Names] numbers and names points. A [Matrix] counts copies between them, each cell with
// the [Delays] of a histogram. All of them take constant memory. None returns errors.
package points
