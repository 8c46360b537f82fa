// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
)

// seen is one packet as a test remembers it.
type seen struct {
	time    int64
	wireLen uint32
	iface   capture.Interface // without Origin, since pointers never compare
	origin  uint32
	big     bool
	data    string
	record  string
}

// seenBlock is one block, with how many packets came before it.
type seenBlock struct {
	typ     uint32
	data    string
	section uint32
	before  int
}

// whole is everything that a source delivers.
type whole struct {
	packets []seen
	blocks  []seenBlock
	ifaces  []capture.Interface
	secs    []capture.Section
	err     error // nil at a clean end
}

// readAll drains src and checks what every batch promises.
func readAll(t testing.TB, src capture.Source) whole {
	t.Helper()
	var w whole
	var b capture.Batch
	for {
		err := src.Next(&b)
		w.ifaces, w.secs = slices.Clone(b.Interfaces), b.Sections
		for i := range w.ifaces {
			w.ifaces[i].Origin = nil
		}
		if err != nil {
			if len(b.Frames)+len(b.Blocks)+len(b.Buf) > 0 {
				t.Fatalf("Next returned %v with %d frames, %d blocks, %d bytes", err, len(b.Frames), len(b.Blocks), len(b.Buf))
			}
			if again := src.Next(&b); again != err {
				t.Fatalf("Next returned %v after %v", again, err)
			}
			if err != io.EOF {
				w.err = err
			}
			return w
		}
		w.add(t, &b)
	}
}

func (w *whole) add(t testing.TB, b *capture.Batch) {
	t.Helper()
	start, size := len(w.packets), uint32(len(b.Buf))
	end := uint32(0)
	for i := range b.Frames {
		f := &b.Frames[i]
		if f.Record < end || f.Data < f.Record || f.Data+f.CapLen > f.Record+f.RecordLen || f.Record+f.RecordLen > size {
			t.Fatalf("frame %d of a batch of %d bytes, after %d: %+v", i, size, end, *f)
		}
		end = f.Record + f.RecordLen
		it := b.Interfaces[f.Interface]
		origin := it.OriginPoint()
		it.Origin = nil
		w.packets = append(w.packets, seen{
			time: f.Time, wireLen: f.WireLen, iface: it, origin: origin, big: b.Sections[it.Section].BigEndian,
			data: string(b.Data(i)), record: string(b.Record(i)),
		})
	}
	before := uint32(0)
	for i, k := range b.Blocks {
		if k.Offset+k.Len > size || k.Before < before || int(k.Before) > len(b.Frames) || int(k.Section) >= len(b.Sections) {
			t.Fatalf("block %d of a batch of %d bytes and %d frames: %+v", i, size, len(b.Frames), k)
		}
		before = k.Before
		w.blocks = append(w.blocks, seenBlock{k.Type, string(b.Block(i)), k.Section, start + int(k.Before)})
	}
}

// open reads from memory; it fails the test if the header is not sound.
func open(t testing.TB, data []byte, opt Options) capture.Source {
	t.Helper()
	src, err := NewReader(bytes.NewReader(data), "test", opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	return src
}

// bytes returns all records and blocks in their order.
func (w *whole) bytes() []byte {
	var out []byte
	k := 0
	for i := 0; i <= len(w.packets); i++ {
		for ; k < len(w.blocks) && w.blocks[k].before == i; k++ {
			out = append(out, w.blocks[k].data...)
		}
		if i < len(w.packets) {
			out = append(out, w.packets[i].record...)
		}
	}
	return out
}

// equal compares packets and blocks; the errors only by their text.
func equal(t testing.TB, got, want whole) {
	t.Helper()
	if len(got.packets) != len(want.packets) || len(got.blocks) != len(want.blocks) {
		t.Fatalf("%d packets and %d blocks, want %d and %d", len(got.packets), len(got.blocks), len(want.packets), len(want.blocks))
	}
	for i := range got.packets {
		if got.packets[i] != want.packets[i] {
			t.Fatalf("packet %d: %+v\nwant %+v", i, got.packets[i], want.packets[i])
		}
	}
	for i := range got.blocks {
		if got.blocks[i] != want.blocks[i] {
			t.Fatalf("block %d: %+v\nwant %+v", i, got.blocks[i], want.blocks[i])
		}
	}
	if text(got.err) != text(want.err) {
		t.Fatalf("error %v, want %v", got.err, want.err)
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// inputError returns err as an *InputError, or fails.
func inputError(t testing.TB, err error) *capture.InputError {
	t.Helper()
	var e *capture.InputError
	if !errors.As(err, &e) {
		t.Fatalf("%v (%T) is no *InputError", err, err)
	}
	return e
}
