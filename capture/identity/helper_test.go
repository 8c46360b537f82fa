// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
)

// message is the input of the digest for one identity.
type message struct {
	text  string
	tweak uint64
}

func messageOf(buf []byte, m digest.Message) message {
	return message{string(buf[m.Off:][:m.Len]), m.Tweak}
}

// all returns what a digest sees of each frame.
func (m *Messages) all() []message {
	out := make([]message, len(m.msgs))
	applyEdits(m.buf, m.edits)
	for i := range out {
		out[i] = messageOf(m.buf, m.msgs[i])
	}
	takeBack(m.buf, m.edits)
	for i := range m.nonIP {
		out[m.nonIP[i].number] = messageOf(m.copied, m.copies[i])
	}
	return out
}

// identityOf returns the identity of a single frame.
func identityOf(cfg Config, link capture.LinkType, data []byte) message {
	b := newBatch(link, data)
	h := decode(headers.DecoderConfig{Inner: cfg.Kind == Inner}, b)
	return New(cfg).FromHeaders(b, 0, h).all()[0]
}
