package flow

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
)

// Messages are the identities of a run of frames.
type Messages struct {
	buf     []byte           // where msgs lie
	msgs    []digest.Message // one for each frame, of which those in bare do not count
	nonIP   []nonIPFrame     // frames without IP
	copied  []byte           // where their messages lie
	copies  []digest.Message
	digests []digest.Digest
}

// begin returns the empty messages of n frames of b.
func (g *Identity) begin(b *capture.Batch, n int) *Messages {
	m := &g.out
	m.buf, m.msgs, m.nonIP = b.Buf, resize(m.msgs, n), m.nonIP[:0]
	return m
}

// Sum writes the digests of the identities to dst, frame by frame. It panics if dst has
// no room for them.
func (m *Messages) Sum(dst []digest.Digest, d digest.MessageDigester) {
	d.SumMessages(dst, m.buf, m.msgs)
	if len(m.nonIP) == 0 {
		return
	}
	m.digests = resize(m.digests, len(m.nonIP))
	d.SumMessages(m.digests, m.copied, m.copies)
	for i := range m.nonIP {
		dst[m.nonIP[i].number] = m.digests[i]
	}
}
