// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"

	"github.com/flowdedup/flowdedup/engine/cluster/slice"
	"github.com/flowdedup/flowdedup/layout"
)

// magic begins a snapshot, with its version in the last byte.
const magic = "FDchain\x01"

// saved is the content of a snapshot except the lines.
type saved struct {
	Shape   Shape
	Number  int
	Lost    bool
	Since   uint64
	Now     uint64
	Base    uint64
	Tests   uint64
	Hops    uint64
	Bytes   uint64
	Sites   []site
	Decided uint64       `json:",omitempty"` // the unit of the decider
	Sent    uint64       `json:",omitempty"`
	Pending []pendingSet `json:",omitempty"`
	Filters int          `json:",omitempty"` // of a slice of dynamic size, the newest last
	Placed  uint64       `json:",omitempty"` // in the newest
	Older   []savedOlder `json:",omitempty"` // the others, of timers
}

// savedOlder is the state of an older filter of timers, except its lines.
type savedOlder struct{ Base, Placed uint64 }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Save appends all that the link knows to dst: "FDchain", version, the length of a JSON text
// (u32), that text, the lines of all filters, and the CRC-32C of all before it.
func (l *Link) Save(dst []byte) []byte {
	start := len(dst)
	text := saved{
		Shape: l.shape, Number: l.number, Lost: l.lost, Since: l.since, Now: l.now, Base: l.store.base,
		Tests: l.tests, Hops: l.hops, Bytes: l.bytes, Sites: l.sites,
	}
	if l.shape.Grow != "" {
		text.Filters, text.Placed = len(l.older)+1, l.store.placed
	}
	for i := range l.older {
		if l.store.timed {
			text.Older = append(text.Older, savedOlder{l.older[i].base, l.older[i].placed})
		}
	}
	if d := l.decide; d != nil {
		text.Decided, text.Sent, text.Pending = d.now, d.sent, d.pending
	}
	head, err := json.Marshal(text)
	if err != nil {
		panic("chain: " + err.Error()) // numbers, strings and bytes always encode
	}
	dst = append(dst, magic...)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(head)))
	dst = append(dst, head...)
	for i := range l.older {
		dst = l.older[i].save(dst)
	}
	dst = l.store.save(dst)
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
}

// Restore makes the link that was saved. Shape and number must equal those saved.
// Errors wrap slice.ErrSnapshot or ErrShape.
func Restore(s Shape, number int, data []byte) (*Link, error) {
	text, lines, err := parseSaved(data)
	if err != nil {
		return nil, err
	}
	if text.Shape != s || text.Number != number {
		return nil, fmt.Errorf("%w: it is of another filter: slice %d of %v", slice.ErrSnapshot, text.Number, text.Shape)
	}
	l, err := New(s, number)
	if err != nil {
		return nil, err
	}
	if err := l.restore(text, lines); err != nil {
		_ = l.Close() // the first error is returned
		return nil, err
	}
	return l, nil
}

// parseSaved takes a snapshot apart.
func parseSaved(data []byte) (text saved, lines []byte, err error) {
	const head, sum = len(magic) + 4, 4
	if len(data) < head+sum || !bytes.HasPrefix(data, []byte(magic)) {
		return text, nil, fmt.Errorf("%w: it does not begin as one", slice.ErrSnapshot)
	}
	body, end := data[:len(data)-sum], data[len(data)-sum:]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(end) {
		return text, nil, fmt.Errorf("%w: its checksum is wrong", slice.ErrSnapshot)
	}
	n := int64(binary.LittleEndian.Uint32(data[len(magic):]))
	if n > int64(len(body)-head) {
		return text, nil, fmt.Errorf("%w: it is cut", slice.ErrSnapshot)
	}
	if err := json.Unmarshal(body[head:head+int(n)], &text); err != nil {
		return text, nil, fmt.Errorf("%w: %v", slice.ErrSnapshot, err)
	}
	return text, body[head+int(n):], nil
}

// restore restores a new link.
func (l *Link) restore(text saved, lines []byte) error {
	filters, each := max(1, text.Filters), len(l.store.lines)*layout.LineSize
	ok := filters <= l.shape.filters() && len(lines) == filters*each && len(text.Sites) <= slice.MaxSites && len(text.Pending) <= maxPending &&
		(!l.store.timed || len(text.Older) == filters-1)
	for i := range text.Sites {
		ok = ok && text.Sites[i].Replies.Valid()
	}
	if !ok {
		return fmt.Errorf("%w: its parts do not fit each other", slice.ErrSnapshot)
	}
	l.lost, l.since, l.now, l.tests, l.hops, l.bytes = text.Lost, text.Since, text.Now, text.Tests, text.Hops, text.Bytes
	for i := range filters {
		if i > 0 {
			next, err := l.newStore()
			if err != nil {
				return err
			}
			l.older, l.store = append(l.older, l.store), next
		}
		switch {
		case i == filters-1:
			l.store.base, l.store.placed = text.Base, text.Placed
		case l.store.timed:
			l.store.base, l.store.placed = text.Older[i].Base, text.Older[i].Placed
		}
		l.store.restore(lines[i*each:(i+1)*each], l.now)
	}
	l.sites = text.Sites
	for i := range l.sites {
		l.byName[l.sites[i].Name] = i
	}
	if l.decide == nil {
		return nil
	}
	l.decide.now, l.decide.sent, l.decide.pending = text.Decided, text.Sent, text.Pending
	l.resend = len(text.Pending) > 0
	pos := make([]uint64, l.places.k)
	for i := range l.decide.pending {
		p := &l.decide.pending[i]
		m, err := parse(p.Message)
		if err == nil {
			_, p.settings, err = m.settings()
		}
		if err != nil {
			return fmt.Errorf("%w: %w", slice.ErrSnapshot, err)
		}
		for _, s := range p.settings {
			l.places.of(pos, s.element)
			l.decide.remember(pos, s.zeroAt)
		}
	}
	return nil
}
