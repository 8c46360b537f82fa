// SPDX-License-Identifier: Apache-2.0

// Package xdp captures from network interfaces through AF_XDP sockets of Linux
// (Documentation/networking/af_xdp.rst), which cost the kernel less per packet than the
// sockets of package afpacket. On other systems its functions return an error that wraps
// errors.ErrUnsupported.
//
// [Open] returns a [Capture], a [capture.Source] like the Capture of package afpacket: the same
// pcapng section, the same ways to stop, the same statistics. Each receive queue of an interface
// has a socket. An XDP program hands packets to these sockets before
// the kernel has made anything of them. So captured packets reach neither the host's own
// stack nor other captures, and [Open] refuses interfaces that the host uses, unless
// [Config.Take] is set. The program is attached by a bpf_link: the kernel detaches it when
// the process ends, whichever way.
//
// Differences from package afpacket:
//
//   - Only arriving packets are captured, not packets that the host sends.
//   - A packet has the time at which the driver began the poll that brought it (NAPI, up to 64
//     packets), in steps of 128 ns. Without CAP_PERFMON, and from taps of virtual machines, it
//     has the time at which the XDP program saw it. Before Linux 6.1 it has the time at which
//     Next found it, which all packets of a batch share. With [Config.HardwareTime] it has the
//     time of the network card, if the driver provides it.
//   - A VLAN tag that the network card has taken off (receive offload) is put back if the
//     driver provides it (bpf_xdp_metadata_rx_vlan_tag, Linux 6.8). Otherwise it is lost,
//     which Open or Next warns about (ethtool -K IFACE rxvlan off).
//   - Filters run in this process, on frames with their tags, as they do on files.
//   - A frame of more than 3,836 bytes is spread over several frames of memory and copied
//     together, if the interface's MTU allows such frames, and kernel (6.6) and driver can.
//     Otherwise it is dropped and counted.
//
// The program runs in the driver, else in the kernel's generic path, which is slower. The
// kernel copies each packet into the memory of the socket, unless the driver receives
// there at once (zero copy).
//
// Packets are copied into batches, whose way is then faster than in place: packets lie 2
// KiB apart in the memory of a socket, so that they share few places in the caches. With
// packets of 60 bytes, de-duplicating took 200 ns a packet in place and 140 copied.
//
// Errors wrap errors of package afpacket, [ErrInUse] or [ErrUnfit]. Open needs Linux 5.9,
// CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF. Capture.Start needs no privilege from Linux 5.19 on.
//
//	question                                 file
//	settings, limits, errors                 config.go, device_linux.go
//	a capture; an interface and its changes  capture_linux.go; port_linux.go, follow_linux.go
//	a queue, its socket, its frames          queue_linux.go, socket_linux.go, frames.go
//	the program: loading; instructions       program_linux.go; instructions_linux.go
//	a time for all packets of a poll         poll_clock_linux.go
package xdp
