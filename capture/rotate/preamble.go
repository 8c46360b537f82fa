package rotate

import (
	"fmt"

	"github.com/flowdedup/flowdedup/capture"
)

const (
	// maxPreamble bounds what each file has to begin with.
	maxPreamble = 16 << 20
	// maxRepeated bounds the names and secrets among it.
	maxRepeated = 1 << 20
)

// preamble is what a new file begins with so that it can be read alone: blocks of the
// stream that later packets need.
type preamble struct {
	capture.Batch       // of blocks alone
	repeated      int64 // bytes of names and secrets among them
	full          bool  // there were more descriptions than can be repeated
}

// isHeader tells blocks that say nothing where no packet follows.
func isHeader(kind uint32) bool {
	return kind == capture.BlockFileHeader || kind == capture.BlockSectionHeader || kind == capture.BlockInterface
}

// observe takes in block i of b, if files of this layout repeat it.
func (p *preamble) observe(b *capture.Batch, i int, layout capture.Layout) {
	k := b.Blocks[i]
	switch {
	case !layout.Repeats(k.Type):
		return
	case k.Type == capture.BlockSectionHeader:
		p.reset()
	case !isHeader(k.Type):
		if p.repeated+int64(k.Len) > maxRepeated {
			return
		}
		p.repeated += int64(k.Len)
	}
	if len(p.Buf)+int(k.Len) > maxPreamble {
		p.full = true
		return
	}
	p.Buf = append(p.Buf, b.Block(i)...)
	k.Offset, k.Before = uint32(len(p.Buf))-k.Len, 0
	p.Blocks = append(p.Blocks, k)
}

// reset begins a section to which nothing before it matters.
func (p *preamble) reset() {
	p.Reset()
	p.repeated, p.full = 0, false
}

// check returns an error if files cannot be read alone.
func (p *preamble) check() error {
	if p.full {
		return fmt.Errorf("more than %d MiB of interface descriptions for each file: %w", maxPreamble>>20, capture.ErrNotSupported)
	}
	return nil
}
