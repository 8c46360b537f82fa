package capture

import "fmt"

const (
	// maxHead bounds what each file of a Rotation has to begin with.
	maxHead = 16 << 20
	// maxRepeated bounds the names and secrets among it.
	maxRepeated = 1 << 20
)

// rotationHead is what a new file of a Rotation begins with so that it can stand
// alone: blocks of the stream that later packets need.
type rotationHead struct {
	Batch          // of blocks alone
	repeated int64 // bytes of names and secrets among them
	full     bool  // there were more descriptions than can be repeated
}

// isHeader tells blocks that say nothing where no packet follows.
func isHeader(kind uint32) bool {
	return kind == BlockFileHeader || kind == BlockSectionHeader || kind == BlockInterface
}

// learn takes in block i of b, if files that are written in this way need it.
func (h *rotationHead) learn(b *Batch, i int, kind layoutKind) {
	k := &b.Blocks[i]
	switch k.Type {
	case BlockFileHeader:
		if kind == oneSection {
			return // the tables say all
		}
	case BlockSectionHeader:
		if kind != copied {
			return
		}
		h.forget()
	case BlockInterface:
	case BlockNameResolution, BlockDecryption:
		if h.repeated+int64(k.Len) > maxRepeated {
			return
		}
		h.repeated += int64(k.Len)
	default:
		return
	}
	h.add(b, i)
}

// forget begins a section to which nothing before it matters.
func (h *rotationHead) forget() {
	h.Reset()
	h.repeated, h.full = 0, false
}

func (h *rotationHead) add(b *Batch, i int) {
	k := b.Blocks[i]
	if len(h.Buf)+int(k.Len) > maxHead {
		h.full = true
		return
	}
	h.Buf = append(h.Buf, b.Block(i)...)
	k.Offset, k.Before = uint32(len(h.Buf))-k.Len, 0
	h.Blocks = append(h.Blocks, k)
}

// check returns an error if files cannot stand alone.
func (h *rotationHead) check() error {
	if h.full {
		return fmt.Errorf("more than %d MiB of interface descriptions for each file: %w", maxHead>>20, ErrNotSupported)
	}
	return nil
}
