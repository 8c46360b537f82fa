// SPDX-License-Identifier: Apache-2.0

package inspect

import "github.com/flowdedup/flowdedup/capture"

// firsts are the first packets of a stream, up to the first truncated one. Captures with a snap length
// begin with short packets, and the recommended command compares the first bytes of these, too.
type firsts struct {
	packets capture.Batch
	seen    []sighting
	over    bool // the first truncated packet came later
}

// mostFirsts bounds the packets, and mostFirstBytes the bytes of them.
const (
	mostFirsts     = 1 << 12
	mostFirstBytes = 4 << 20
)

// add adds the packets of b, which p has prepared.
func (f *firsts) add(p *Batch, b *capture.Batch) {
	f.over = f.over || len(f.seen)+len(p.seen) > mostFirsts
	f.packets.Interfaces, f.packets.Sections = b.Interfaces, b.Sections
	for i := 0; i < len(p.seen) && !f.over; i++ {
		frame := b.Frames[p.frames[i]]
		data := b.Data(int(p.frames[i]))
		frame.Data = uint32(len(f.packets.Buf))
		f.packets.Buf, f.packets.Frames, f.seen = append(f.packets.Buf, data...), append(f.packets.Frames, frame), append(f.seen, p.seen[i])
		f.over = len(f.packets.Buf) > mostFirstBytes
	}
	if f.over {
		*f = firsts{over: true}
	}
}

// measure begins a measure of the first bytes of packets with the first packets.
func (f *firsts) measure(n *Inspector, bytes int) {
	n.prefix = newMeasure(n, n.cfg.Memory/4, bytes)
	p := n.NewBatch()
	p.seen = f.seen
	for i := range f.seen {
		p.frames = append(p.frames, int32(i))
	}
	p.readPrefixes(&f.packets)
	n.prefix.add(p, p.prefixes, p.prefixDoubts, 0, len(p.seen), false, &f.packets)
	*f = firsts{over: true}
}
