package capture

// The flags of a pcapng packet (draft-ietf-opsawg-pcapng, section 4.3.1): four bits are
// the length of the frame check sequence in bytes, 0 where it is not known.
const fcsShift, fcsMask = 5, 0xf

// leastFCSBits is where an interface's length must be one in bits, as the text of the
// specification has it, although its example and Wireshark have bytes.
const leastFCSBits = 16

// FCSLen returns how many bytes of frame check sequence frame i had at its end on the
// wire: by its own flags where pcapng gives such, else by its interface. It is 0 where
// the capture says nothing.
func (b *Batch) FCSLen(i int) int {
	if n := b.packetFlags(i) >> fcsShift & fcsMask; n > 0 {
		return int(n)
	}
	n := int(b.Interfaces[b.Frames[i].Interface].FCSLen)
	if n >= leastFCSBits {
		return n / 8
	}
	return n
}

// packetFlags returns the flags of a pcapng packet, 0 if it has none.
func (b *Batch) packetFlags(i int) uint32 {
	f := &b.Frames[i]
	section := &b.Sections[b.Interfaces[f.Interface].Section]
	options, end := int(f.Data)+int((f.CapLen+3)&^3), int(f.Record)+int(f.RecordLen)-4
	if section.Format != FormatPcapNG || options >= end {
		return 0
	}
	switch order32(b.Buf[f.Record:], section.BigEndian) {
	case BlockEnhancedPacket, BlockPacket:
	default:
		return 0
	}
	for o := (optionList{rest: b.Buf[options:end], big: section.BigEndian}); ; {
		code, value, err := o.next()
		switch {
		case err != nil, code == optEnd:
			return 0
		case code == optFlags && len(value) >= 4:
			return order32(value, section.BigEndian)
		}
	}
}
