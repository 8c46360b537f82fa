// SPDX-License-Identifier: Apache-2.0

package slice

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
)

// ErrSnapshot is wrapped by the errors of Restore.
var ErrSnapshot = errors.New("bad snapshot of a slice")

// magic begins a snapshot, with its version in the last byte.
const magic = "FDslice\x03"

// saved is the content of a snapshot except the lines.
type saved struct {
	Window      uint64
	Slices      int
	Lines       int
	Spare       int
	Sites       []savedSite
	Nodes       []siteClock
	Pairs       [][]*pair
	Differences [][]*differences
	Latest      int64
	Evicted     uint64
	EvictedLive uint64
	SinceGrown  uint64
}

type savedSite struct {
	site
	Replies Replies
}

// Save appends all that the slice knows to dst: "FDslice", version, the length of a JSON
// text (u32), that text, the lines, the spare lines, and the CRC-32C of all before it.
func (s *Slice) Save(dst []byte) []byte {
	start := len(dst)
	text := saved{
		Window: s.window, Slices: s.cfg.Slices, Lines: len(s.rows.lines), Spare: len(s.rows.spare), Nodes: s.clocks.nodes,
		Pairs: s.pairs.rows, Differences: s.clocks.pairs.rows, Latest: s.latest,
		Evicted: s.evicted, EvictedLive: s.evictedLive, SinceGrown: s.sinceGrown,
	}
	for _, one := range s.sites {
		text.Sites = append(text.Sites, savedSite{site: one, Replies: one.replies})
	}
	head, err := json.Marshal(text)
	if err != nil {
		panic("slice: " + err.Error()) // numbers and strings always encode
	}
	dst = append(dst, magic...)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(head)))
	dst = append(dst, head...)
	all := s.rows.all()
	for i := range all {
		for _, word := range all[i] {
			dst = binary.LittleEndian.AppendUint64(dst, word)
		}
	}
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Restore makes the slice that was saved. The configuration must fit: window and number
// of slices equal those saved, and the limit has room for the slice. Errors wrap
// ErrSnapshot or ErrConfig.
func Restore(cfg Config, data []byte) (*Slice, error) {
	text, lines, err := parse(data)
	if err != nil {
		return nil, err
	}
	if text.Window != cfg.windowUS() || text.Slices != cfg.Slices {
		return nil, fmt.Errorf("%w: it is of a window of %d us and of %d slices", ErrSnapshot, text.Window, text.Slices)
	}
	if err := text.check(lines, cfg.Limit); err != nil {
		return nil, err
	}
	cfg.Memory = len(lines)
	s, err := withoutRows(cfg)
	if err != nil {
		return nil, err
	}
	if s.rows, err = newRows(text.Lines, text.Spare); err != nil {
		return nil, err
	}
	all := s.rows.all()
	for i := range all {
		for j := range all[i] {
			all[i][j] = binary.LittleEndian.Uint64(lines[lineBytes*i+8*j:])
		}
	}
	for _, one := range text.Sites {
		one.site.replies = one.Replies
		s.addSite(one.site)
	}
	s.clocks.nodes, s.clocks.pairs.rows, s.pairs.rows = text.Nodes, text.Differences, text.Pairs
	s.latest, s.evicted, s.evictedLive, s.sinceGrown = text.Latest, text.Evicted, text.EvictedLive, text.SinceGrown
	return s, nil
}

// parse takes a snapshot apart.
func parse(data []byte) (text saved, lines []byte, err error) {
	const head, sum = len(magic) + 4, 4
	if len(data) < head+sum || !bytes.HasPrefix(data, []byte(magic)) {
		return text, nil, fmt.Errorf("%w: it does not begin as one", ErrSnapshot)
	}
	body, end := data[:len(data)-sum], data[len(data)-sum:]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(end) {
		return text, nil, fmt.Errorf("%w: its checksum is wrong", ErrSnapshot)
	}
	n := int64(binary.LittleEndian.Uint32(data[len(magic):]))
	if n > int64(len(body)-head) {
		return text, nil, fmt.Errorf("%w: it is cut", ErrSnapshot)
	}
	if err := json.Unmarshal(body[head:head+int(n)], &text); err != nil {
		return text, nil, fmt.Errorf("%w: %v", ErrSnapshot, err)
	}
	return text, body[head+int(n):], nil
}

// check checks the invariants that the rest of the slice relies on.
func (t *saved) check(lines []byte, limit int) error {
	n := len(t.Sites)
	ok := len(lines)%lineBytes == 0 && t.sized(len(lines)/lineBytes) && len(lines) <= limit && n <= MaxSites && len(t.Nodes) == n && square(t.Pairs, n) && square(t.Differences, n)
	for i := range t.Sites {
		ok = ok && t.rooted(i) && t.Sites[i].Replies.Valid()
	}
	for _, row := range t.Differences {
		for _, d := range row {
			ok = ok && (d == nil || d.Count >= 0)
		}
	}
	for at := lineBytes / 2; ok && at < len(lines); at += lineBytes {
		for cell := range cells {
			m := binary.LittleEndian.Uint64(lines[at+8*cell:])
			maySpill := cell == 0 && t.Spare > 0 && at < lineBytes*t.Lines
			ok = ok && mark(m).site() <= n && (maySpill || m&spilledBit == 0)
		}
	}
	if !ok {
		return fmt.Errorf("%w: its parts do not fit each other", ErrSnapshot)
	}
	return nil
}

// sized reports whether a slice can have the given number of lines and spare lines
// together.
func (t *saved) sized(all int) bool {
	return t.Lines > 0 && t.Lines <= all && t.Spare == all-t.Lines && (t.Spare == 0 || t.Lines == linesPerSpare*t.Spare)
}

// rooted reports whether the way up from a site ends at its root.
func (t *saved) rooted(site int) bool {
	at := site
	for range t.Nodes {
		parent := t.Nodes[at].Parent
		if parent == at {
			return at == t.Nodes[site].Root
		}
		if parent < 0 || parent >= len(t.Nodes) {
			return false
		}
		at = parent
	}
	return false
}

func square[T any](rows [][]*T, n int) bool {
	for _, row := range rows {
		if len(row) != n {
			return false
		}
	}
	return len(rows) == n
}
