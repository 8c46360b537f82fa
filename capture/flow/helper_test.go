package flow

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// newBatch returns a batch of frames of one link type.
func newBatch(link capture.LinkType, frames ...[]byte) *capture.Batch {
	b := &capture.Batch{
		Interfaces: []capture.Interface{{LinkType: link}},
		Sections:   []capture.Section{{}},
	}
	for _, data := range frames {
		at := uint32(len(b.Buf))
		n := uint32(len(data))
		b.Buf = append(b.Buf, data...)
		b.Frames = append(b.Frames, capture.Frame{Data: at, CapLen: n, WireLen: n, Record: at, RecordLen: n})
	}
	return b
}

// decode decodes all frames of a batch.
func decode(cfg DecoderConfig, b *capture.Batch) []Header {
	h := make([]Header, len(b.Frames))
	NewDecoder(cfg).Decode(h, b, 0)
	return h
}

// decodeOne decodes a single frame.
func decodeOne(cfg DecoderConfig, link capture.LinkType, data []byte) Header {
	return decode(cfg, newBatch(link, data))[0]
}

// message is what a digest sees of an identity.
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
	for i := range out {
		out[i] = messageOf(m.buf, m.msgs[i])
	}
	for i := range m.nonIP {
		out[m.nonIP[i].number] = messageOf(m.copied, m.copies[i])
	}
	return out
}

// identityOf returns the identity of a single frame.
func identityOf(cfg IdentityConfig, link capture.LinkType, data []byte) message {
	b := newBatch(link, data)
	h := decode(DecoderConfig{Inner: cfg.Kind == Inner}, b)
	return NewIdentity(cfg).FromHeaders(b, 0, h).all()[0]
}

// sharedCaptures returns the directory of captures with known answers, which
// are not part of this repository.
func sharedCaptures(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("FLOWDEDUP_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "pcaps")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("captures with known answers are not here: %v", err)
	}
	return dir
}

func readJSON(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

// eachBatch calls do with every readable batch of a capture. Damage ends it
// without complaint.
func eachBatch(t *testing.T, name string, do func(b *capture.Batch)) {
	t.Helper()
	src, err := pcapfile.Open(name, pcapfile.Options{})
	var damage *capture.InputError
	if errors.As(err, &damage) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var b capture.Batch
	for {
		err := src.Next(&b)
		if errors.Is(err, io.EOF) || errors.As(err, &damage) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		do(&b)
	}
}
