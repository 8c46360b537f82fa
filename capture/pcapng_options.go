package capture

import "math/bits"

// pcapng lets authors of custom blocks and options forbid that they are copied into a
// file that was changed (draft-ietf-opsawg-pcapng, sections 3.5.1 and 4.7): what they
// say may be wrong there. Whatever is written of a batch is such a file, so the reader
// leaves them out, and no writer has to look for them.

// isNoCopy tells the options that are not to be copied.
func isNoCopy(code uint16) bool {
	return code == optCustomTextOnce || code == optCustomDataOnce
}

// optionsAt returns where the options of a block begin, or the end of its body if it
// has none that are known.
func (p *pcapng) optionsAt(block []byte, kind uint32) int {
	end := len(block) - 4
	at := end
	switch kind {
	case BlockSectionHeader:
		at = 24
	case BlockInterface:
		at = 16
	case BlockStatistics:
		at = 20
	case BlockDecryption:
		if end >= 16 {
			at = 16 + int(min(uint64(p.u32(block[12:]))+3, uint64(end)))&^3
		}
	case BlockNameResolution:
		// Records have the form of options, and one that ends them.
		records := optionList{rest: block[blockHead:end], big: p.big}
		for code, err := uint16(1), error(nil); code != optEnd; {
			if code, _, err = records.next(); err != nil {
				return end
			}
		}
		at = end - len(records.rest) + 4
	}
	return min(at, end)
}

// withoutNoCopy closes the gaps that options not to be copied leave in a block, in
// place, and returns what is left of the block. If an option breaks the list, which
// begins at offset list, that stays, and its offset comes with the error.
func (p *pcapng) withoutNoCopy(block []byte, list int) (left []byte, broken int, err error) {
	o := optionList{rest: block[list : len(block)-4], big: p.big}
	to := list
	for {
		from := len(block) - 4 - len(o.rest)
		code, _, err := o.next()
		if err != nil || code == optEnd {
			return p.shorten(block, to, from), to, err
		}
		end := len(block) - 4 - len(o.rest)
		if isNoCopy(code) {
			continue
		}
		if from != to {
			copy(block[to:], block[from:end])
		}
		to += end - from
	}
}

// shorten moves the end of a block's body, from an offset on, to another one in front
// of it, and returns the block with its new length.
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
	o := optionList{rest: list, big: big}
	for {
		code, _, err := o.next()
		switch {
		case err != nil:
			return damaged("%v", err)
		case code == optEnd:
			return nil
		}
	}
}
