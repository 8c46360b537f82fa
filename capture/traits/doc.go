// SPDX-License-Identifier: Apache-2.0

// Package traits says where packets were seen, and how two sightings of one packet differ. The
// differences show why a capture has copies, such as a mirror of two ports, or taps on both
// sides of a router. The package does not decide which packets are copies.
//
// A [Stack] lists the headers of one frame before its packet, and hashes them. Traits are the
// parts that may differ between copies. A [Sampler] samples the traits of the packets of one
// batch, in any worker. A [Counter] receives the samples of all batches in order, with the
// verdicts, and compares.
//
// [CapturePoints] numbers the places where frames were seen. A [SightingReader] hashes, of each
// frame, its conversation and its point ([Sightings]).
//
// A point is an interface with the VLAN tags, the tunnels and the redundant path of a packet.
// [Names] numbers and names points. Copies are counted by the points of
// both packets, each [Cell] with the [Delays] of a [Histogram].
//
// A [SplitCounter] counts the conversations whose kept packets come from more than one point,
// in a [Sample].
//
// # Comments on copies
//
// A [Marker] says of each copy in a stream which packet it repeats, and how the two differ, as
// a comment that a pcapng writer adds to the copy. Nothing is removed: whoever reads the
// output can check each verdict, in Wireshark by the field frame.comment:
//
//	copy of packet 1234, 0.210 ms later, VLAN 10 -> 20, TTL 64 -> 63, interface eth0 -> eth1, MAC
//
// The first value is of the packet that was kept, the second of the copy. Named are, where
// they differ:
//
//   - VLAN with all identifiers, the outermost first ("10/20"), or "VLAN tag" if only
//     priorities or types of tags differ
//   - MPLS with all labels, PPPoE with the session, and each tunnel with its identifier
//     (VNI, key, session, endpoint)
//   - TTL or hop limit, ToS or traffic class
//   - interface and input
//   - MAC: hardware addresses
//   - length on the wire, or the captured bytes, as far as no header above explains it
//   - "headers before IP" and "other bytes" for all else
//
// A packet that another site has sent ([Marker.MarkWith]) is a "copy of a packet of another
// site". Where nothing differs, the copy is "identical". A later or earlier time is the
// difference of the timestamps. A packet without a timestamp has none.
//
// Packets are numbered as Wireshark numbers them in one file that holds the whole stream:
// from 1 on, and with the custom and journal blocks of pcapng, which it shows among the
// packets. Of several files that hold the stream one after the other, the numbers go
// through all. A [Marker] remembers a packet until 200,000 further packets were
// kept; a copy that comes later is "copy of a packet no longer remembered".
//
// All types take constant memory. None returns errors.
//
//	question                                   file
//	the headers before a packet, their hashes  stack.go, traits.go
//	conversation and point of each frame       sighting.go, sighting_*.go
//	capture points; names of points            capture_points.go; names.go
//	differences of copies, counted             sample.go, counts.go, delays.go
//	the same as comments on copies             marker.go, marker_text.go
//	conversations from more than one point     split.go
//	packets shared out by conversation         pairs.go
package traits
