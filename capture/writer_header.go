package capture

import "strings"

const (
	// application is what the file says it was written by.
	application = "flowdedup"
	// maxOption is the longest value that an option can have.
	maxOption = 1<<16 - 1
)

// sectionHeader writes the only section header of the output.
func (w *sectionWriter) sectionHeader() {
	p := w.scratch[:0]
	p = le.AppendUint32(p, BlockSectionHeader)
	p = le.AppendUint32(p, 0)
	p = le.AppendUint32(p, byteOrderMagic)
	p = le.AppendUint16(p, 1)
	p = le.AppendUint16(p, 0)
	p = le.AppendUint64(p, unknownLength)
	p = appendOption(p, optUserAppl, application)
	p = le.AppendUint32(p, optEnd)
	w.finishBlock(p)
}

// describe writes the interface description of a pcap input.
func (w *sectionWriter) describe(it *Interface, nanosecond bool) {
	p := w.scratch[:0]
	p = le.AppendUint32(p, BlockInterface)
	p = le.AppendUint32(p, 0)
	p = le.AppendUint16(p, uint16(it.LinkType))
	p = le.AppendUint16(p, 0)
	p = le.AppendUint32(p, it.SnapLen)
	options := len(p)
	if it.Name != "" {
		p = appendOption(p, optName, strings.ToValidUTF8(it.Name, "\uFFFD"))
	}
	if nanosecond {
		p = appendOption(p, optTSResol, "\x09")
	}
	if it.FCSLen > 0 {
		// In bytes, as the example of the specification and Wireshark have it,
		// although the specification's text says bits.
		p = appendOption(p, optFCSLen, string([]byte{it.FCSLen}))
	}
	if len(p) > options {
		p = le.AppendUint32(p, optEnd)
	}
	w.finishBlock(p)
}

// finishBlock fills in the lengths of block p and writes it.
func (w *sectionWriter) finishBlock(p []byte) {
	n := uint32(len(p)) + 4
	le.PutUint32(p[4:], n)
	p = le.AppendUint32(p, n)
	w.out.write(p)
	w.scratch = p
}

// appendOption appends one option with its padding; a value that is too long is
// cut.
func appendOption(p []byte, code uint16, value string) []byte {
	value = value[:min(len(value), maxOption)]
	p = le.AppendUint16(p, code)
	p = le.AppendUint16(p, uint16(len(value)))
	p = append(p, value...)
	for n := len(value); n%4 != 0; n++ {
		p = append(p, 0)
	}
	return p
}
