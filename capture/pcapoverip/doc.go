// SPDX-License-Identifier: Apache-2.0

// Package pcapoverip reads captures from a network, and writes them to it: PCAP over IP, that is
// pcap or pcapng streams over TCP, with or without TLS.
//
// An [Address] says which side connects. [Open] makes a [Receiver], which adds the streams
// that come to a [pcapfile.Arrivals]. [OpenSender] makes a [Sender], which sends packets to
// the peer that it connects to, or to all peers that connect.
//
// Peers are not trusted. A receiver bounds how many streams it reads at a time, how long a TLS
// handshake takes, and the size of records. A stream is not decompressed. Keep-alive probes
// end connections whose peer is gone. TCP itself authenticates nobody: an address without a
// host listens on the loopback interface only.
//
//	question                               file
//	addresses; connections, TLS            address.go; tls.go
//	receiving: an address; a stream        receive.go, refusals.go; stream.go
//	sending: an address; each peer         send.go; peer.go
package pcapoverip
