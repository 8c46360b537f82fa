// SPDX-License-Identifier: Apache-2.0

// Package reassemble puts the fragments of tunnels together (RFC 791, RFC 815, RFC 8200 section
// 4.5), so that the packets in them are found.
//
//   - joiner.go: which fragments belong together, and for how long they wait;
//   - batch.go: a batch with whole datagrams in place of their fragments;
//   - whole.go: the bytes of a whole datagram, and of the fragments that it was made of;
//   - source.go: all this as a capture.Source.
//
// A datagram stands at the place of the fragment that made it whole, and has its time. It is one
// packet from then on. Writers that keep packets as they came get its fragments from a Splitter.
package reassemble
