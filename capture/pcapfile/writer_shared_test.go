package pcapfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
	"github.com/flowdedup/flowdedup/capture/internal/forge"
)

// TestSharedCapturesSplit splits each shared capture, sound or damaged, into two
// files that together must hold each of its packets once, both as copies and as
// rewritten sections.
func TestSharedCapturesSplit(t *testing.T) {
	capturetest.EachShared(t, func(t *testing.T, name string) {
		src, err := Open(name, Options{})
		if err != nil {
			t.Skip(err) // its header is damaged, or it is no capture
		}
		splitShared(t, src, false)
		src, err = Open(name, Options{})
		if err != nil {
			t.Fatal(err)
		}
		splitShared(t, Merge([]capture.Source{src, source(t, forge.NG(binary.BigEndian, 9).Bytes(), "other")}, nil), true)
		copyShared(t, name)
	})
}

// splitShared drops a third of the packets.
func splitShared(t *testing.T, src capture.Source, merged bool) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(7, 7))
	same := alike(exactly)
	r := split(t, src, merged, func() bool { return rnd.IntN(3) == 0 })
	if err := same(packets(t, r.kept.Bytes()), r.wantKept); err != nil {
		t.Errorf("merged %v: kept: %v", merged, err)
	}
	if err := same(packets(t, r.dup.Bytes()), r.wantDup); err != nil {
		t.Errorf("merged %v: duplicates: %v", merged, err)
	}
}

// copyShared drops nothing, which must give the very same file, as far as it
// could be read, up to the length of sections and less blocks not to be copied.
func copyShared(t *testing.T, name string) {
	t.Helper()
	src, err := Open(name, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := NewWriter(&out, WriterOptions{})
	format := capture.FormatPcap
	end := capturetest.Each(t, src, func(b *capture.Batch) {
		format = b.Sections[0].Format
		if err := w.Write(b, nil); err != nil {
			t.Fatal(err)
		}
	})
	want, err := os.ReadFile(name)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	switch {
	case bytes.HasPrefix(want, []byte("\x1f\x8b")):
	case end != nil && out.Len() >= len(want), end == nil && out.Len() != len(want)-noCopyLen(want):
		t.Errorf("%d bytes copied of %d (%v)", out.Len(), len(want), end)
	case format == capture.FormatPcap && !bytes.HasPrefix(want, out.Bytes()):
		t.Error("the copy differs")
	}
}

// noCopyLen returns how long the custom blocks of a capture are that must not be copied.
func noCopyLen(data []byte) (total int) {
	if le.Uint32(data) != capture.BlockSectionHeader {
		return 0
	}
	big := false
	for len(data) >= encoding.MinBlockLen {
		if le.Uint32(data) == capture.BlockSectionHeader {
			big = le.Uint32(data[8:]) != encoding.ByteOrderMagic
		}
		n := int(encoding.Uint32(data[4:], big))
		if encoding.Uint32(data, big) == capture.BlockCustomNoCopy {
			total += n
		}
		data = data[n:]
	}
	return total
}
