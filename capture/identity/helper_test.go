// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
)

// message is the input of the digest for an identity.
type message struct {
	text  string
	tweak uint64
}

func messageOf(buf []byte, m digest.Message) message {
	return message{string(buf[m.Off:][:m.Len]), m.Tweak}
}

// recorder keeps the messages that it is to digest. A digest is the number of a message.
type recorder []message

// SumMessages implements digest.MessageDigester.
func (r *recorder) SumMessages(dst []digest.Digest, buf []byte, msgs []digest.Message) {
	for i, m := range msgs {
		dst[i] = digest.Digest{uint64(len(*r))}
		*r = append(*r, messageOf(buf, m))
	}
}

// all returns what a digest sees of each frame.
func (m *Messages) all() []message {
	var r recorder
	digests, out := make([]digest.Digest, len(m.msgs)), make([]message, len(m.msgs))
	m.Sum(digests, &r)
	for i, d := range digests {
		out[i] = r[d[0]]
	}
	return out
}

// identityOf returns the identity of a single frame.
func identityOf(cfg Config, link capture.LinkType, data []byte) message {
	b := newBatch(link, data)
	h := decode(headers.NewDecoder(headers.DecoderConfig{Inner: cfg.Kind == Inner}), b)
	return New(cfg).FromHeaders(b, 0, h).all()[0]
}
