// Package ring captures from network interfaces, and sends to them, through
// AF_PACKET sockets of Linux. Elsewhere its functions return an error that wraps
// errors.ErrUnsupported.
//
// [Open] gives a [capture.Source], so that whatever works on files works on live
// traffic. The kernel writes packets into TPACKET_V3 rings that are shared with
// it (Documentation/networking/packet_mmap.rst); [Capture.Next] copies whole ring
// blocks into the batch as records of a little-endian pcapng section with
// timestamps in nanoseconds, and gives each block back at once. So batches may be in
// flight and outlive the capture, the VLAN tag that the kernel keeps beside a frame
// gets its place, and all of the ring is free for bursts. Copying takes less time
// than lending the kernel's memory with the records' headers written into it, for
// small packets at least (BenchmarkLive, 60 bytes: 24 ns a packet against 40, where
// walking the ring alone takes 15; of 1514 bytes 170 against 115, and then 64):
// writing takes cache lines from the processor that fills the ring, and a copy leaves
// the packets close together in the cache.
//
// What the kernel does to packets before anybody sees them cannot be undone:
// packets that receive offload (GRO) put together appear as one, up to 64 KiB and
// more (ethtool -K IFACE gro off lro off), and the checksums of those that the
// host itself sends are often not filled in yet. Both are counted in [Stats].
//
// All needs CAP_NET_RAW and nothing more.
package ring
