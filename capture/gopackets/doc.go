// SPDX-License-Identifier: Apache-2.0

// Package gopackets gives programs that use github.com/google/gopacket each packet once.
//
// [Once] wraps a handle. The result is a gopacket.PacketDataSource too, so a program
// changes one line:
//
//	packets := gopacket.NewPacketSource(gopackets.Once(handle, gopackets.Config{}), handle.LinkType())
//
// [NewSource] makes a capture.Source of a handle, for pipelines, writers and all else that
// takes batches. Both take any gopacket.PacketDataSource (handles of pcap, afpacket and
// pcapgo). They read without copies if it is a gopacket.ZeroCopyPacketDataSource too.
// [ZeroCopy] adapts a source that is only the latter.
//
// # What it costs
//
// BenchmarkOnce reads packets of 294 bytes from pcapgo. Half of them are copies. Each takes
// some 1.6 us of processor time with Config.Ahead 0, and 0.4 us with 512. gopacket takes
// 1.4 us to decode a packet. So a program that decodes takes less time with Ahead than without
// Once. (Measured on a virtual machine of two cores with other work.)
//
// # What counts
//
// Data, times, lengths and interfaces come from the handle. A truncated packet keeps its
// length on the wire. CaptureInfo.InterfaceIndex identifies interfaces. AncillaryData passes
// through but does not count: a VLAN tag that a handle took out of a packet is not part of its
// identity.
//
// A layers.LinkType has eight bits, so gopacket takes LINKTYPE_LINUX_SLL2 (276) for type 20.
// Config.LinkType overrides it.
//
// # Errors
//
// Once returns the errors of the handle, at their place among the packets. A Source wraps
// them as [capture.InputError] or [capture.ReadError].
package gopackets
