package flow

// IdentityKind says which bytes of a frame make two packets the same packet.
type IdentityKind uint8

// The kinds of identity.
const (
	// L3 is the IP datagram, from its header to the end that its length field
	// gives, so that link headers, VLAN tags and padding do not count. Of frames
	// without an IP header it is addresses, ethertype and payload, or the identity
	// Frame where there is none of these.
	L3 IdentityKind = iota
	// Frame is the captured bytes and the length on the wire.
	Frame
	// Inner is like L3, for headers decoded with Config.Inner. Where a tunnel
	// carries a frame without an IP header, its identity is that of the frame
	// carried.
	Inner
)

var identityKindNames = [...]string{L3: "l3", Frame: "frame", Inner: "inner"}

// String returns "l3", "frame" or "inner".
func (k IdentityKind) String() string { return nameOf(identityKindNames[:], uint8(k)) }

// ParseIdentityKind is the inverse of String.
func ParseIdentityKind(s string) (IdentityKind, error) {
	k, err := parseName(identityKindNames[:], s)
	return IdentityKind(k), err
}
