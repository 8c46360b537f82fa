// SPDX-License-Identifier: Apache-2.0

package compressed

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/flowdedup/flowdedup/capture"
)

// packers compress in the ways that reading undoes.
var packers = map[string]func(io.Writer) (io.WriteCloser, error){
	"gzip": func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil },
	"zstd": func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) },
	"lz4":  func(w io.Writer) (io.WriteCloser, error) { return lz4.NewWriter(w), nil },
}

func pack(t testing.TB, how string, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := packers[how](&out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// readAll reads the content of r, in the usual way of its users.
func readAll(r io.Reader) (inside []byte, wasCompressed bool, err error) {
	d, head, err := NewReader(r)
	if err != nil {
		return nil, false, err
	}
	defer d.Close()
	rest, err := io.ReadAll(d)
	return append(head, rest...), d.Compressed(), err
}

// incompressible returns bytes that stay as many.
func incompressible(n int) []byte {
	random := rand.NewChaCha8([32]byte{1})
	data := make([]byte, n)
	_, _ = random.Read(data) // never fails
	return data
}

// TestInside gets back what was compressed, however few bytes come at once.
func TestInside(t *testing.T) {
	skippable := append([]byte{0x53, 0x2A, 0x4D, 0x18, 5, 0, 0, 0}, "notes"...)
	for _, data := range [][]byte{nil, []byte("a"), []byte("{}\n"), incompressible(3 * HeadSize), make([]byte, 1<<16)} {
		stored := map[string][]byte{"plain": data}
		for how := range packers {
			one, half := pack(t, how, data), len(data)/2
			stored[how] = one
			stored[how+" of two members"] = append(pack(t, how, data[:half]), pack(t, how, data[half:])...)
			stored["gzip of "+how] = pack(t, "gzip", one)
			if how != "gzip" {
				stored["skippable frames before "+how] = bytes.Join([][]byte{skippable, skippable, one}, nil)
			}
		}
		for name, bytesOf := range stored {
			for way, r := range map[string]io.Reader{
				"whole": bytes.NewReader(bytesOf), "halves": iotest.HalfReader(bytes.NewReader(bytesOf)),
				"single bytes": iotest.OneByteReader(bytes.NewReader(bytesOf)), "with EOF": iotest.DataErrReader(bytes.NewReader(bytesOf)),
			} {
				if got, was, err := readAll(r); err != nil || !bytes.Equal(got, data) || was != (name != "plain") {
					t.Errorf("%d bytes, %s, %s: %d bytes, %t, %v", len(data), name, way, len(got), was, err)
				}
			}
		}
	}
}

// TestHead returns enough bytes to distinguish formats, and no more than a page.
func TestHead(t *testing.T) {
	data := incompressible(2 * HeadSize)
	for how := range packers {
		d, head, err := NewReader(iotest.OneByteReader(bytes.NewReader(pack(t, how, data))))
		if err != nil || len(head) < 4 || len(head) > HeadSize || !bytes.HasPrefix(data, head) {
			t.Errorf("%s: %d bytes, %v", how, len(head), err)
		}
		d.Close()
	}
}

// TestDamage reports the damage, and returns the bytes before it.
func TestDamage(t *testing.T) {
	data := incompressible(1 << 18)
	for how := range packers {
		packed := pack(t, how, data)
		wrongSum := bytes.Clone(packed)
		at := len(wrongSum) - 1
		if how == "gzip" {
			at = len(wrongSum) - 8
		}
		wrongSum[at] ^= 0xff
		for name, c := range map[string]struct {
			stored []byte
			reason error
			says   string
			least  int // bytes that come before
		}{
			"cut":                     {packed[:len(packed)-1], capture.ErrTruncated, how + " data cut short", len(data) / 2},
			"cut in its header":       {packed[:5], capture.ErrTruncated, how + " data cut short", 0},
			"a wrong checksum":        {wrongSum, capture.ErrDamaged, how + " data damaged", len(data) / 2},
			"rubbish behind":          {append(bytes.Clone(packed), "rubbish that follows"...), capture.ErrDamaged, how + " data damaged", len(data)},
			"a layer below that ends": {pack(t, "gzip", packed)[:len(packed)/2], capture.ErrTruncated, "gzip data cut short", 0},
			"three layers":            {pack(t, "zstd", pack(t, "gzip", packed)), capture.ErrUnknownFormat, "more than 2 times", 0},
		} {
			got, _, err := readAll(bytes.NewReader(c.stored))
			if !errors.Is(err, c.reason) || !strings.Contains(err.Error(), c.says) || len(got) < c.least || !bytes.HasPrefix(data, got) {
				t.Errorf("%s, %s: %d bytes, %v", how, name, len(got), err)
			}
			if !capture.IsDamage(capture.Locate(err, "x", 0, false)) {
				t.Errorf("%s, %s: a failure to read: %v", how, name, err)
			}
		}
	}
}

// TestWindow refuses zstd windows that would take too much memory.
func TestWindow(t *testing.T) {
	// RFC 8878, section 3.1.1.1: no single segment, a window of 2^(10+18) bytes.
	frame := append(binary.LittleEndian.AppendUint32(nil, 0xFD2FB528), 0, 18<<3, 1, 0, 0)
	_, _, err := readAll(bytes.NewReader(frame))
	if !errors.Is(err, capture.ErrNotSupported) || !strings.Contains(err.Error(), "128 MiB") {
		t.Error(err)
	}
	if _, _, err = readAll(bytes.NewReader(pack(t, "gzip", frame))); !errors.Is(err, capture.ErrNotSupported) {
		t.Error("below gzip:", err)
	}
}

// TestFailedRead passes on the errors of the stream, and marks them.
func TestFailedRead(t *testing.T) {
	broken := errors.New("cable cut")
	data := incompressible(1 << 18)
	for name, stored := range map[string][]byte{"plain": data, "gzip": pack(t, "gzip", data), "both": pack(t, "zstd", pack(t, "lz4", data))} {
		for _, after := range []int{0, 3, len(stored) / 2} {
			_, _, err := readAll(io.MultiReader(bytes.NewReader(stored[:after]), iotest.ErrReader(broken)))
			var failed *capture.ReadError
			if located := capture.Locate(err, "x", 7, false); !errors.As(located, &failed) || failed.Err != broken || failed.Offset != 7 {
				t.Errorf("%s after %d bytes: %v", name, after, err)
			}
		}
	}
	if _, _, err := NewReader(idle{}); !errors.Is(err, io.ErrNoProgress) {
		t.Error(err)
	}
}

// idle never has anything.
type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

// FuzzReader reads any bytes. Whatever is wrong with them is damage.
func FuzzReader(f *testing.F) {
	data := []byte("packets and records")
	f.Add(data)
	f.Add([]byte{0x53, 0x2A, 0x4D, 0x18, 5, 0, 0, 0})
	f.Add([]byte{0x02, 0x21, 0x4C, 0x18, 1, 0, 0, 0, 0}) // legacy lz4
	for how := range packers {
		packed := pack(f, how, data)
		f.Add(packed)
		f.Add(packed[:len(packed)/2])
		f.Add(append(packed, 0, 0, 0, 0))
		f.Add(pack(f, "gzip", packed))
	}
	f.Fuzz(func(t *testing.T, stored []byte) {
		d, head, err := NewReader(bytes.NewReader(stored))
		if err == nil {
			defer d.Close()
			if len(head) > HeadSize {
				t.Fatalf("a head of %d bytes", len(head))
			}
			_, err = io.CopyN(io.Discard, d, 1<<20)
		}
		if err != nil && err != io.EOF && !capture.IsDamage(capture.Locate(err, "x", 0, false)) {
			t.Error(err)
		}
		if err == io.EOF && !d.Compressed() && len(head) < min(4, len(stored)) {
			t.Errorf("a head of %d bytes", len(head))
		}
	})
}
