package flow

// Header says where the IP header of a frame lies and what it holds. Offsets
// are in bytes from the first captured byte of the frame, and
// Start <= End <= captured length always holds.
type Header struct {
	// Start and End delimit the IP datagram: from the first byte of its header
	// to the end that its length field gives, cut at the captured end. A length
	// field of 0, which senders with segmentation offload leave, means the
	// captured end. Without an IP header they delimit the whole frame, or
	// the frame that a tunnel carries where one was opened.
	Start, End uint32
	// L4 is where the header after the IP header and its extensions starts; 0
	// if it was not captured, or lies in an earlier fragment.
	L4 uint32
	// Wire is the length on the wire of what Start and End delimit. It is set
	// without an IP header only: IP states its own length.
	Wire uint32
	// SrcPort and DstPort are those of TCP, UDP, UDP-Lite, SCTP and DCCP; 0 for
	// other protocols, for later fragments and where they were not captured.
	SrcPort, DstPort uint16
	// VLAN is the identifier (12 bits) of the outermost 802.1Q or 802.1ad tag;
	// valid with FlagVLAN, since 0 is a legal identifier.
	VLAN uint16
	// Dst and Src are the offsets of the destination and source hardware
	// addresses of 6 bytes; valid with FlagDst and FlagSrc.
	Dst, Src uint16
	// Tag is the offset of the first VLAN tag's control information; Tags
	// counts the tags that follow each other there without anything between.
	Tag     uint16
	Version uint8 // 4 or 6; 0 if no IP header was found
	// Proto is the IP protocol number; for IPv6 the one after the extension
	// headers.
	Proto uint8
	Tags  uint8
	Flags uint8 // of the Flag constants
}

// Bits of Header.Flags.
const (
	FlagVLAN     = 1 << iota // the frame has a VLAN tag
	FlagDst                  // Dst is valid
	FlagSrc                  // Src is valid
	FlagFragment             // the datagram is a fragment, the first or a later one
	FlagInner                // a tunnel was opened
)

// linkFlags are those that belong to the link header around the datagram.
const linkFlags = FlagVLAN | FlagDst | FlagSrc
