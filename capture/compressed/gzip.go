// SPDX-License-Identifier: Apache-2.0

package compressed

import (
	"bufio"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
)

// gzipMembers reads consecutive gzip members as a single stream. Zeros after the last member
// are padding: tapes and fixed block sizes leave it, and gzip -t accepts it.
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

// nextMember reads the header of the next member. It returns io.EOF at the end, and after
// padding up to the end.
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
