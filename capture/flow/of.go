package flow

import (
	"fmt"
	"slices"
	"strings"
)

// KeyKind says what is counted.
type KeyKind uint8

// What keys are made of.
const (
	Src    KeyKind = iota // source address
	Dst                   // destination address
	IP                    // either address: two elements a packet
	Pair                  // source and destination address
	Flow                  // five-tuple: addresses, ports and protocol
	Biflow                // five-tuple with its two ends sorted, so that both directions are one
	// MAC is either hardware address, group addresses left out: the stations
	// seen. It needs no IP header.
	MACs
)

var keyKindNames = [...]string{Src: "src", Dst: "dst", IP: "ip", Pair: "pair", Flow: "flow", Biflow: "biflow", MACs: "mac"}

// String returns the name that ParseKeyKind reads.
func (o KeyKind) String() string { return nameOf(keyKindNames[:], uint8(o)) }

// ParseKeyKind reads "src", "dst", "ip", "pair", "flow", "biflow" or "mac".
func ParseKeyKind(s string) (KeyKind, error) {
	o, err := parseName(keyKindNames[:], s)
	return KeyKind(o), err
}

// KeyConfig says what a key is made of.
type KeyConfig struct {
	Kind KeyKind
	// Mask4 and Mask6 are prefix lengths that addresses are cut to; 0 means
	// whole addresses.
	Mask4, Mask6 int
	VLAN         bool // the outermost VLAN tag is part of the key
}

// Validate returns an error if the configuration has no meaning.
func (c KeyConfig) Validate() error {
	switch {
	case int(c.Kind) >= len(keyKindNames):
		return fmt.Errorf("unknown key %d", c.Kind)
	case c.Mask4 < 0 || c.Mask4 > 32:
		return fmt.Errorf("IPv4 prefix length %d is not within 0 to 32", c.Mask4)
	case c.Mask6 < 0 || c.Mask6 > 128:
		return fmt.Errorf("IPv6 prefix length %d is not within 0 to 128", c.Mask6)
	}
	return nil
}

// nameOf returns the name of a constant, or its number if it is none.
func nameOf(names []string, i uint8) string {
	if int(i) < len(names) {
		return names[i]
	}
	return fmt.Sprint(i)
}

// parseName is the inverse of nameOf.
func parseName(names []string, s string) (uint8, error) {
	i := slices.Index(names, s)
	if i < 0 {
		return 0, fmt.Errorf("must be one of %s", strings.Join(names, ", "))
	}
	return uint8(i), nil
}

// determined says which addresses and flows packets have in common that have others in
// common: bit o of element k is set if those of k make those of o.
var determined = [...]uint8{
	Src: 1 << Src, Dst: 1 << Dst, IP: 1 << IP, MACs: 1 << MACs,
	Pair:   1<<Src | 1<<Dst | 1<<IP | 1<<Pair,
	Flow:   1<<Src | 1<<Dst | 1<<IP | 1<<Pair | 1<<Flow | 1<<Biflow,
	Biflow: 1<<IP | 1<<Biflow,
}

// Determines tells whether packets with the same key by c have the same one by other, too.
func (c KeyConfig) Determines(other KeyConfig) bool {
	return determined[c.Kind]>>other.Kind&1 != 0 && (c.VLAN || !other.VLAN) &&
		prefix(c.Mask4, 32) >= prefix(other.Mask4, 32) && prefix(c.Mask6, 128) >= prefix(other.Mask6, 128)
}

// prefix returns the prefix length that a mask means.
func prefix(mask, whole int) int {
	if mask == 0 {
		return whole
	}
	return mask
}
