package flow

// nonIP is what a walk notes for frames without IP, which are compared by hardware
// addresses, ethertype and payload: the innermost ones that were reached. Offsets are
// those of the walk.
type nonIP struct {
	known    bool // where the addresses are, or that there are none
	dst, src int  // offsets of the addresses, or none
	body     int  // where the payload begins that walk.typ announces; 0 if none was met
	end      int  // where it ends at the latest, 0 if nothing says so
	exact    bool // the end is what a length field says
	fcs      int  // bytes of frame check sequence at the end of the frame
}

// none stands for an address that a link header does not have.
const none = -1

// addresses notes where addresses lie, counted from the walk's offset, negative if
// there is none.
func (p *nonIP) addresses(w *walk, dst, src int) {
	p.dst, p.src, p.exact = none, none, false
	if dst >= 0 {
		p.dst = w.o + dst
	}
	if src >= 0 {
		p.src = w.o + src
	}
	p.known = max(p.dst, p.src)+6 <= len(w.d)
}

// limit notes that the payload does not reach behind end.
func (p *nonIP) limit(end int) {
	if p.end == 0 || end < p.end {
		p.end = end
	}
}

// sized notes that the payload begins at body and has the given length (IEEE 802.3,
// 3.2.6). A length that leaves no room for an 802.2 header is none.
func (p *nonIP) sized(body, length int) {
	if length >= 3 {
		p.limit(body + length)
		p.exact = true
	}
}
