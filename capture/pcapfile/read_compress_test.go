// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/flowdedup/flowdedup/capture"
)

// packers compress in the ways that reading undoes.
var packers = map[string]func(t testing.TB, data []byte) []byte{
	"gzip": func(t testing.TB, data []byte) []byte {
		return pack(t, data, func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil })
	},
	"zstd": func(t testing.TB, data []byte) []byte {
		return pack(t, data, func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) })
	},
	"lz4": func(t testing.TB, data []byte) []byte {
		return pack(t, data, func(w io.Writer) (io.WriteCloser, error) { return lz4.NewWriter(w), nil })
	},
}

func pack(t testing.TB, data []byte, open func(io.Writer) (io.WriteCloser, error)) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := open(&out)
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

func TestCompressed(t *testing.T) {
	skippable := append([]byte{0x53, 0x2A, 0x4D, 0x18, 5, 0, 0, 0}, "notes"...)
	for name, data := range samples() {
		want := readAll(t, open(t, data, Options{}))
		check := func(how string, packed []byte) {
			t.Run(name+"/"+how, func(t *testing.T) {
				equal(t, readAll(t, open(t, packed, Options{})), want)
			})
		}
		for how, f := range packers {
			check(how, f(t, data))
			half := len(data) / 2
			check(how+" of two members", append(f(t, data[:half]), f(t, data[half:])...))
			check("gzip of "+how, packers["gzip"](t, f(t, data)))
			if how != "gzip" {
				check("skippable frames before "+how, bytes.Join([][]byte{skippable, skippable, f(t, data)}, nil))
			}
			_, err := NewReader(bytes.NewReader(f(t, packers["zstd"](t, packers["gzip"](t, data)))), "x", Options{})
			if !errors.Is(err, capture.ErrUnknownFormat) {
				t.Errorf("three layers: %v", err)
			}
		}
	}
}

// Padding with zeros is not damage, as in gzip -t. Other bytes after it are.
func TestGzipPadding(t *testing.T) {
	data := packets64(capture.FormatPcap, 1000)
	want := readAll(t, open(t, data, Options{}))
	packed := packers["gzip"](t, data)
	for _, zeros := range []int{1, 511, 1 << 20} {
		padded := append(bytes.Clone(packed), make([]byte, zeros)...)
		equal(t, readAll(t, open(t, padded, Options{})), want)
		equal(t, readAll(t, open(t, packers["zstd"](t, padded), Options{})), want)
		w := readAll(t, open(t, append(padded, packed...), Options{}))
		if e := inputError(t, w.err); len(w.packets) != 1000 || !errors.Is(e, capture.ErrDamaged) || !strings.Contains(e.Error(), "behind zero padding") {
			t.Errorf("a member behind %d zeros: %d packets, %v", zeros, len(w.packets), e)
		}
	}
}

// Data that was decompressed before the damage is delivered. The error names the
// compression.
func TestCompressedDamage(t *testing.T) {
	data := packets64(capture.FormatPcap, 4000)
	random := rand.New(rand.NewPCG(1, 2))
	for i := 24; i < len(data); i += 80 {
		for j := range 64 {
			data[i+16+j] = byte(random.Uint32()) // so that it does not compress to nothing
		}
	}
	want := readAll(t, open(t, data, Options{}))
	for how, f := range packers {
		packed := f(t, data)
		for _, cut := range []int{1, 5, len(packed) / 2, len(packed) - 60} {
			broken := packed[:len(packed)-cut]
			w := whole{}
			if src, err := NewReader(bytes.NewReader(broken), "x", Options{}); err != nil {
				w.err = err
			} else {
				w = readAll(t, src)
			}
			e := inputError(t, w.err)
			if !errors.Is(e, capture.ErrTruncated) || !strings.Contains(e.Error(), how+" data cut short") {
				t.Errorf("%s cut by %d: %v", how, cut, e)
			}
			if len(w.packets) > 0 && len(w.packets) < 1000 && cut < 100 {
				t.Errorf("%s cut by %d: only %d packets", how, cut, len(w.packets))
			}
			if len(w.packets) > 0 && e.Offset != 24+80*int64(len(w.packets)) && e.Offset != int64(len(data)) {
				t.Errorf("%s cut by %d: %v after %d packets", how, cut, e, len(w.packets))
			}
			w.err = nil
			w.packets = append(w.packets, want.packets[len(w.packets):]...)
			if len(w.blocks) > 0 {
				equal(t, w, want)
			}
		}
		// The checksum at the end is wrong: all packets, then the error.
		bad := bytes.Clone(packed)
		at := len(bad) - 1
		if how == "gzip" {
			at = len(bad) - 8
		}
		bad[at] ^= 0xFF
		w := readAll(t, open(t, bad, Options{}))
		if e := inputError(t, w.err); !errors.Is(e, capture.ErrDamaged) || !strings.Contains(e.Error(), how+" data damaged") || e.Header {
			t.Errorf("%s with a wrong checksum: %v", how, e)
		}
		// What follows is neither a member nor padding.
		w = readAll(t, open(t, append(bytes.Clone(packed), "rubbish that follows"...), Options{}))
		if e := inputError(t, w.err); len(w.packets) != len(want.packets) || !errors.Is(e, capture.ErrDamaged) {
			t.Errorf("%s with rubbish behind it: %d packets, %v", how, len(w.packets), e)
		}
	}
}
