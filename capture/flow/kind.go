package flow

// Kind says which bytes of a frame make two packets the same packet.
type Kind uint8

// The kinds of identity.
const (
	// L3 is the IP datagram, from its header to the end that its length field
	// gives, so that link headers, VLAN tags and padding do not count. Of frames
	// without an IP header it is addresses, ethertype and payload, or the identity
	// Frame where there is none of these.
	L3 Kind = iota
	// Frame is the captured bytes and the length on the wire.
	Frame
	// Inner is like L3, for headers decoded with Config.Inner. Where a tunnel
	// carries a frame without an IP header, its identity is that of the frame
	// carried.
	Inner
)

var kindNames = [...]string{L3: "l3", Frame: "frame", Inner: "inner"}

// String returns "l3", "frame" or "inner".
func (k Kind) String() string { return nameOf(kindNames[:], uint8(k)) }

// ParseKind is the inverse of String.
func ParseKind(s string) (Kind, error) {
	k, err := parseName(kindNames[:], s)
	return Kind(k), err
}
