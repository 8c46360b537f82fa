// SPDX-License-Identifier: Apache-2.0

package compressed

import (
	"bufio"
	"bytes"
	"fmt"
	"io"

	"github.com/flowdedup/flowdedup/capture"
)

// maxLayers is how many compressions may be nested: captures are compressed where they
// are taken, and some again where they are stored.
const maxLayers = 2

// HeadSize is how much of an input is read to recognize it. It is a page, so later reads
// of a file start at a page boundary.
const HeadSize = 4096

// Reader reads what an input has inside. One goroutine at a time may use it. It has no
// goroutines of its own.
type Reader struct {
	top    io.Reader // the innermost data so far
	layers []*layer
}

// NewReader opens the decompressors that r needs, if any. It returns the first decompressed
// bytes: HeadSize at most, and fewer than 4 only at the end. Read continues behind them.
//
// Errors about the content, of NewReader and of Read, name the compression, and wrap
// [capture.ErrTruncated], [capture.ErrDamaged], [capture.ErrUnknownFormat] (more than two
// layers, nothing inside) or [capture.ErrNotSupported] (a window above 128 MiB). Errors of r
// become a [capture.ReadError]. [capture.Locate] adds the name of the input to both.
func NewReader(r io.Reader) (*Reader, []byte, error) {
	d := &Reader{top: source{r}}
	for {
		head, err := d.head()
		if err == nil {
			var more bool
			if more, err = d.decompress(head); err == nil && !more {
				return d, head, nil
			}
		}
		if err != nil {
			d.Close()
			return nil, nil, err
		}
	}
}

// head reads the first bytes of the last layer. A reader that returns nothing and no error
// again and again has failed.
func (d *Reader) head() ([]byte, error) {
	br := bufio.NewReaderSize(d.top, HeadSize)
	if _, err := br.Peek(4); err != nil && err != io.EOF {
		return nil, capture.FailedRead(err)
	}
	return br.Peek(br.Buffered())
}

// Read reads decompressed bytes.
func (d *Reader) Read(p []byte) (int, error) { return d.top.Read(p) }

// Compressed reports whether the input is.
func (d *Reader) Compressed() bool { return len(d.layers) > 0 }

// Close releases the decompressors. It must not be called during Read.
func (d *Reader) Close() {
	for _, l := range d.layers {
		l.close()
	}
}

// decompress opens a further layer if head, the bytes read last, begins compressed data.
func (d *Reader) decompress(head []byte) (bool, error) {
	if compression(head) == "" {
		return false, nil
	}
	if len(d.layers) == maxLayers {
		return false, fmt.Errorf("%w: compressed more than %d times", capture.ErrUnknownFormat, maxLayers)
	}
	l, err := newLayer(io.MultiReader(bytes.NewReader(head), d.top))
	if err != nil {
		return false, err
	}
	d.top, d.layers = l, append(d.layers, l)
	return true, nil
}

// source marks errors of the input itself. Other errors come from a decompressor.
type source struct{ r io.Reader }

func (s source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	return n, capture.FailedRead(err)
}
