// Package gopackets lets programs that stand on github.com/google/gopacket have each
// packet once.
//
// [Once] wraps a handle, and is a gopacket.PacketDataSource itself. So one line of a
// program changes:
//
//	packets := gopacket.NewPacketSource(gopackets.Once(handle, gopackets.Config{}), handle.LinkType())
//
// [NewSource] makes a handle a capture.Source, for pipelines, writers and whatever else
// takes batches. Both take any gopacket.PacketDataSource (handles of pcap, afpacket and
// pcapgo), and read it without copies where it is a gopacket.ZeroCopyPacketDataSource as
// well. [ZeroCopy] makes one of what is nothing else.
//
// # What it costs
//
// BenchmarkOnce has packets of 294 bytes of which half are copies, from pcapgo. Judged
// one by one they take some 1.8 us of processor time each, and 0.4 us with Config.Ahead,
// where gopacket takes 1.4 us to decode one: so a program that decodes the packets which
// stay takes less time with Ahead than without Once. (A virtual machine of two cores
// with other work.)
//
// # What counts
//
// Data, times, lengths and interfaces are those that the handle tells. A packet of which
// only a part was captured keeps its length on the wire. Interfaces are told apart by
// CaptureInfo.InterfaceIndex. What is in AncillaryData goes through, but does not count:
// a VLAN tag that a handle has taken out of a packet is no part of its identity.
//
// A layers.LinkType has eight bits, so gopacket takes LINKTYPE_LINUX_SLL2 (276) for
// another type. Config.LinkType says what it is.
package gopackets
