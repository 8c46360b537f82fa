// SPDX-License-Identifier: Apache-2.0

// Package mirror is the target of mirrored traffic: it takes the datagrams that clouds,
// switches and access points send copies of packets in, and delivers the packets inside.
//
// A [Target] says which encapsulation comes where: VXLAN (RFC 7348) and GENEVE (RFC 8926) over
// UDP, TZSP over UDP, or ERSPAN of types I, II and III and other GRE. [Open] makes a [Capture],
// a capture.Source. Each VNI, session or key is a capture point of its own, and for TZSP, which
// has none, each sender. [Datagrams] delivers the datagrams themselves, for readers of their
// contents.
//
// A UDP target may have several sockets (SO_REUSEPORT), among which the kernel divides the
// datagrams by their addresses and ports: datagrams of a tunnel stay in order. As many
// goroutines read at a time, as a Capture is a capture.Preloader. The socket that is furthest
// behind is read first, so packets are out of order by about a batch.
//
// Senders are neither trusted nor authenticated. Malformed datagrams are counted by reason.
// Memory is bounded: by the buffers of the sockets, 2 MiB more for each socket, and 4,096
// capture points, of which each target has an equal share.
//
//	question                                 file
//	what a user writes; limits and errors    target.go; config.go
//	packets out of datagrams; their points   opener.go; points.go
//	a capture, its sockets, their datagrams  capture_linux.go, socket_linux.go, receive_linux.go
package mirror
