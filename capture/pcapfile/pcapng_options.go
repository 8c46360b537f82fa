// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"math/bits"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
)

// Authors of custom pcapng blocks and options can forbid copies in a changed file, where
// their content may be wrong (draft-ietf-opsawg-pcapng, sections 3.5.1 and 4.7). Every
// output is such a file. So the reader leaves these blocks and options out, and no writer
// has to look for them.

// optionsAt returns where the options of a block begin, or the end of its body if it
// has none that are known.
func (p *pcapng) optionsAt(block []byte, kind uint32) int {
	end := len(block) - 4
	at := end
	switch kind {
	case capture.BlockSectionHeader:
		at = 24
	case capture.BlockInterface:
		at = 16
	case capture.BlockStatistics:
		at = 20
	case capture.BlockDecryption:
		if end >= 16 {
			at = 16 + int(min(uint64(p.u32(block[12:]))+3, uint64(end)))&^3
		}
	case capture.BlockNameResolution:
		// Records have the form of options. The record nrb_record_end ends them.
		records := encoding.Options{Rest: block[blockHead:end], Big: p.big}
		for code, err := uint16(1), error(nil); code != encoding.OptEnd; {
			if code, _, err = records.Next(); err != nil {
				return end
			}
		}
		at = end - len(records.Rest) + 4
	}
	return min(at, end)
}

// withoutNoCopy removes the options not to be copied from a block, in place, and returns
// the rest of the block. The list begins at offset list. An option that breaks it stays,
// and its offset comes with the error.
func (p *pcapng) withoutNoCopy(block []byte, list int) (left []byte, broken int, err error) {
	o := encoding.Options{Rest: block[list : len(block)-4], Big: p.big}
	to := list
	for {
		from := len(block) - 4 - len(o.Rest)
		code, _, err := o.Next()
		if err != nil || code == encoding.OptEnd {
			return p.shorten(block, to, from), to, err
		}
		end := len(block) - 4 - len(o.Rest)
		if code == encoding.OptCustomTextOnce || code == encoding.OptCustomDataOnce {
			continue
		}
		if from != to {
			copy(block[to:], block[from:end])
		}
		to += end - from
	}
}

// shorten removes the bytes from offset to up to offset from of a block, and returns the block with
// its new length.
func (p *pcapng) shorten(block []byte, to, from int) []byte {
	if to == from {
		return block
	}
	n := to + copy(block[to:], block[from:len(block)-4]) + 4
	length := uint32(n)
	if p.big {
		length = bits.ReverseBytes32(length)
	}
	le.PutUint32(block[4:], length)
	le.PutUint32(block[n-4:], length)
	return block[:n:n]
}

// checkOptions walks a list to its end, and fails if an option breaks it.
func checkOptions(list []byte, big bool) error {
	o := encoding.Options{Rest: list, Big: big}
	for {
		code, _, err := o.Next()
		switch {
		case err != nil:
			return damaged("%v", err)
		case code == encoding.OptEnd:
			return nil
		}
	}
}
