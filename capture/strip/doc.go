// SPDX-License-Identifier: Apache-2.0

// Package strip takes headers off packets that are about to be written: VLAN tags, MPLS
// labels, PPPoE sessions, and whole tunnels. It is for readers of captures that take a
// conversation for several when its packets differ in such headers. A [Slicer] cuts packets
// behind their headers. It is the only package that changes packets. The example takes VLAN tags off.
//
// A [Stripper] changes the records of a batch where they lie. It moves the part of a record
// before the header that is taken off, and the packet itself only where the padding of pcapng
// demands it. Lengths, padding, options and a frame check sequence are adapted to the rest of
// the packet. Packets that the bitmap drops stay as they were.
//
// A packet from which a header cannot be taken stays as it was, and is counted: the header was
// cut short, lies in a fragment, or carries a protocol that package headers does not know.
//
//	question                                  file
//	which headers; nearly all frames          strip.go
//	what changes in any other frame           plan.go
//	a frame and its record changed            apply.go
//	interfaces of tunnels                     tables.go
//	packets cut behind their headers          slice.go
package strip
