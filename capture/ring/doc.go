// Package ring captures from network interfaces, and sends to them, through
// AF_PACKET sockets of Linux. Elsewhere its functions return an error that wraps
// errors.ErrUnsupported.
//
// [Open] gives a [capture.Source], so that whatever works on files works on live
// traffic. The kernel writes packets into TPACKET_V3 rings that are shared with
// it (Documentation/networking/packet_mmap.rst); [Capture.Next] copies whole ring
// blocks into the batch as records of a little-endian pcapng section with
// timestamps in nanoseconds, and gives each block back at once. Copying rather
// than lending the kernel's memory costs about what a first look at the packets
// costs anyway. It brings them close together, leaves room for the VLAN tag that
// the kernel keeps beside a frame, lets batches be in flight and outlive the
// capture, and keeps all of the ring free for bursts.
//
// What the kernel does to packets before anybody sees them cannot be undone:
// packets that receive offload (GRO) put together appear as one, up to 64 KiB and
// more (ethtool -K IFACE gro off lro off), and the checksums of those that the
// host itself sends are often not filled in yet. Both are counted in [Stats].
//
// All needs CAP_NET_RAW and nothing more.
package ring
