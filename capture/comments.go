// SPDX-License-Identifier: Apache-2.0

package capture

// Comments are texts about the packets of a batch, for pcapng writers that add them to the
// options of packets (see pcapfile.WriterOptions). All other writers leave them out. The
// zero value has none.
type Comments struct {
	ends []uint32 // of the text of each frame
	text []byte
}

// Reset removes all comments, and keeps their memory.
func (c *Comments) Reset() {
	c.ends, c.text = c.ends[:0], c.text[:0]
}

// Append gives the next frame of the batch, from frame 0 on, a copy of a text in UTF-8. An
// empty text is none. Writers truncate a text to 65,535 bytes.
func (c *Comments) Append(text []byte) {
	c.text = append(c.text, text...)
	c.ends = append(c.ends, uint32(len(c.text)))
}

// Of returns the comment on frame i, empty if it has none.
func (c *Comments) Of(i int) []byte {
	if i >= len(c.ends) {
		return nil
	}
	from, to := uint32(0), c.ends[i]
	if i > 0 {
		from = c.ends[i-1]
	}
	return c.text[from:to:to]
}

// Size returns how many bytes all comments have.
func (c *Comments) Size() int { return len(c.text) }
