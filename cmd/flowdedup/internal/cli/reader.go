// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"
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
	// Watches: a program, not a person, looks for repetition.
	Watches bool
}

// readers are the values of --for.
var readers = []Reader{
	{Name: "suricata", Title: "Suricata", KeysVLAN: true, Verifies: true, NeedsWhole: true, Watches: true},
	{Name: "zeek", Title: "Zeek", Verifies: true, NeedsWhole: true, Watches: true},
	{Name: "arkime", Title: "Arkime", Watches: true},
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
