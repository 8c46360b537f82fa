package capture

import (
	"bufio"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
)

// gzipMembers reads gzip members one behind the other as one stream. Zeros behind the
// last of them belong to no member: tapes and fixed block sizes pad files so, and
// gzip -t finds nothing wrong with it.
type gzipMembers struct {
	br *bufio.Reader
	zr *gzip.Reader
}

// newGzipMembers reads the header of the first member.
func newGzipMembers(br *bufio.Reader) (*gzipMembers, error) {
	zr, err := gzip.NewReader(br)
	if err != nil {
		return nil, err
	}
	zr.Multistream(false)
	return &gzipMembers{br: br, zr: zr}, nil
}

func (g *gzipMembers) Read(p []byte) (int, error) {
	for {
		n, err := g.zr.Read(p)
		if n > 0 && err == io.EOF {
			return n, nil
		}
		if err != io.EOF {
			return n, err
		}
		if err := g.nextMember(); err != nil {
			return 0, err
		}
	}
}

// nextMember reads the header of the next member, or returns io.EOF at the end and
// behind padding that reaches there.
func (g *gzipMembers) nextMember() error {
	first, err := g.br.Peek(1)
	if err != nil {
		return err
	}
	if first[0] == 0 {
		return g.skipPadding()
	}
	if err := g.zr.Reset(g.br); err != nil {
		return noEOF(err)
	}
	g.zr.Multistream(false)
	return nil
}

// skipPadding reads zeros to the end, which it returns as io.EOF.
func (g *gzipMembers) skipPadding() error {
	for {
		c, err := g.br.ReadByte()
		if err != nil {
			return err
		}
		if c != 0 {
			return fmt.Errorf("%w: %#x behind zero padding", gzip.ErrHeader, c)
		}
	}
}
