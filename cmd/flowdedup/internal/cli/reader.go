// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"

	"github.com/flowdedup/flowdedup/capture/headers"
)

// Reader is a program that reads the kept packets, with its own defaults. The manual has the
// table and the reasons (readers.md).
type Reader struct {
	Name, Title string
	// KeysVLAN: a VLAN is part of a flow (Suricata: vlan.use-for-tracking, src/flow-hash.c).
	KeysVLAN bool
	// Verifies: packets with wrong TCP and UDP checksums are not taken (Suricata:
	// stream.checksum-validation; Zeek: ignore_checksums).
	Verifies bool
	// NeedsWhole: truncated packets are not taken, or leave logs incomplete (Suricata: the event
	// ipv4.trunc_pkt; Zeek: content gaps).
	NeedsWhole bool
	// Plain says in which headers it surely finds a packet, in the flow of the packets around it
	// (Suricata: src/decode.h, DecodeNetworkLayer, and the recursion level in src/flow-hash.c; Zeek:
	// scripts/base/packet-protocols; Arkime: capture/packet.c). nil is for programs that a person
	// looks at, and which open nearly all.
	Plain *headers.Plain
	// Watches: a program, not a person, looks for repetition.
	Watches bool
}

// plain has the first tags that all of them open: 802.1Q and 802.1ad.
var plain = &headers.Plain{Outer: []uint16{0x8100, 0x88a8}}

// readers are the values of --for.
var readers = []Reader{
	{Name: "suricata", Title: "Suricata", KeysVLAN: true, Verifies: true, NeedsWhole: true, Plain: plain, Watches: true},
	{Name: "zeek", Title: "Zeek", Verifies: true, NeedsWhole: true, Plain: plain, Watches: true},
	{Name: "arkime", Title: "Arkime", Plain: plain, Watches: true},
	{Name: "wireshark", Title: "Wireshark"},
	{Name: "none"},
}

// IsSet reports whether there is a reader.
func (r *Reader) IsSet() bool { return r.Title != "" }

// ReaderNames returns the values of --for.
func ReaderNames() (names []string) {
	for i := range readers {
		names = append(names, readers[i].Name)
	}
	return names
}

// ParseReader reads a value of --for.
func ParseReader(s string) (Reader, error) {
	name, err := OneOfNear(ReaderNames())(s)
	if err != nil {
		return Reader{}, err
	}
	return readers[slices.IndexFunc(readers, func(r Reader) bool { return r.Name == name })], nil
}
