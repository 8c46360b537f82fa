// SPDX-License-Identifier: Apache-2.0

// Package afpacket captures from network interfaces and sends to them, through AF_PACKET
// sockets of Linux. On other systems its functions return an error that wraps
// errors.ErrUnsupported. The example of [Open] writes each packet of an interface once.
//
// [Open] returns a [Capture], which is a [capture.Source]: whatever works on files works on
// live traffic. The kernel writes packets into TPACKET_V3 rings in shared memory
// (Documentation/networking/packet_mmap.rst). [Capture.Next] copies whole ring blocks into the
// batch, as records of a little-endian pcapng section with timestamps in nanoseconds, and
// returns each ring block to the kernel at once. This has three advantages. Batches may be in
// flight and outlive the capture. The VLAN tag, which the kernel keeps outside of a frame, is
// put back into it. All of the ring absorbs bursts.
//
// For small packets, copying is also faster than writing the headers of records into the ring
// itself. BenchmarkLive takes 24 ns a packet against 40 for 60 bytes, where only walking the
// ring takes 15. For 1514 bytes it takes 170 against 115, and 64 for the walk. Writing takes
// cache lines from the processor that fills the ring, and a copy leaves the packets close
// together in the cache. With [Config.InPlace] there are no records, and packets stay in the
// ring until their batch is given back.
//
// A [Sender] sends Ethernet frames. [ReachedFrom] lists the interfaces at which these may show
// up.
//
// Changes by the kernel before the capture cannot be undone. Receive offload (GRO) merges
// packets into packets of 64 KiB and more (see NotMerging). Packets that the
// host itself sends often lack their checksums. [Stats] counts both.
//
// Errors wrap [ErrNoInterface], [ErrDown], [ErrRemoved], [ErrLinkChanged],
// [ErrNotPermitted], [ErrLinkType], or [ErrFilter] and the other reasons why a filter does not fit.
// [Open] and [OpenSender] need CAP_NET_RAW and no other privilege.
//
//	question                                      file
//	configuration, statistics, errors             config.go
//	filters that the kernel runs                  filter.go
//	a capture, and its interfaces                 capture_linux.go, port_linux.go
//	sockets and rings                             socket_linux.go, ring_linux.go
//	a ring block; a batch that stays in the ring  block.go, block_plain.go; mapping_linux.go
//	names, link types, states of interfaces       device_linux.go
//	sending, to a veth; where sent frames show up sender_linux.go, sender_xdp_linux.go; reach_linux.go
package afpacket
