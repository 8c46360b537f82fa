package flows

import (
	"io"

	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/capture/records/text"
)

// formatAuto finds out what an input is.
const formatAuto = "auto"

// Formats returns the names of the formats of inputs.
func Formats() []string { return append([]string{formatAuto}, text.Formats()...) }

// isText reports whether an input that begins with head is text.
func isText(head []byte) bool {
	for _, b := range head[:min(len(head), 16)] {
		if b < ' ' && b != '\n' && b != '\r' && b != '\t' || b == 0x7f {
			return false
		}
	}
	return true
}

// openText opens input number n.
func (r *runner) openText(in io.Reader, name string, n uint32) (records.Reader, error) {
	format := r.cfg.Format
	if format == formatAuto {
		format = ""
	}
	t, err := text.NewReader(in, shown(name), text.Config{Format: format, Mapping: r.cfg.Map, Input: n})
	if err != nil {
		return nil, err
	}
	r.both = r.both || t.Both()
	return t, nil
}
