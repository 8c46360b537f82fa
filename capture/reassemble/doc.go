// SPDX-License-Identifier: Apache-2.0

// Package reassemble puts the fragments of tunnels together (RFC 791, RFC 815, RFC 8200 section
// 4.5), so that the packets in them are found.
//
//	src, joined := reassemble.NewSource(src, false, nil) // nil for the usual ports of tunnels
//
// A datagram stands at the place of the fragment that made it whole, and has its time. It is a single
// packet from then on. Writers that keep packets as they came get its fragments from a [Splitter].
//
//	question                                               file
//	which fragments belong together; how long they wait    joiner.go
//	a batch with whole datagrams in place of fragments     batch.go
//	the bytes of a whole datagram, and of its fragments    whole.go
//	all this as a capture.Source                           source.go
package reassemble
