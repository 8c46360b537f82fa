package capture

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// samples are captures of both formats in memory.
func samples() map[string][]byte {
	out := pcapVariants()
	out["pcapng"] = ngVariants()
	out["pcap-cut"] = out["us-little"][:len(out["us-little"])-3]
	out["pcapng-cut"] = out["pcapng"][:len(out["pcapng"])-30]
	out["small"] = packets64(FormatPcap, 2000)
	return out
}

func TestAnyReadSize(t *testing.T) {
	readers := map[string]func(io.Reader) io.Reader{
		"whole":           func(r io.Reader) io.Reader { return r },
		"one":             iotest.OneByteReader,
		"half":            iotest.HalfReader,
		"data with error": iotest.DataErrReader,
	}
	for name, data := range samples() {
		want := readAll(t, open(t, data, Options{}))
		for how, wrap := range readers {
			for _, chunk := range []int{1, 7, 1 << 10, 1 << 16} {
				t.Run(fmt.Sprintf("%s/%s/%d", name, how, chunk), func(t *testing.T) {
					src, err := NewReader(wrap(bytes.NewReader(data)), "test", Options{ChunkSize: chunk})
					if err != nil {
						t.Fatal(err)
					}
					equal(t, readAll(t, src), want)
				})
			}
		}
	}
}

func TestUnreadableInputs(t *testing.T) {
	big := make([]byte, 0, 200)
	big = append(big, 0x28, 0xB5, 0x2F, 0xFD, 0x04, 0x90) // zstd, window of 256 MiB
	big = append(big, make([]byte, 100)...)
	for _, c := range []struct {
		name   string
		data   string
		reason error
		text   string
	}{
		{"empty", "", ErrEmpty, "x: offset 0: empty file"},
		{"one byte", "\xd4", ErrTruncated, "1 of at least 24 bytes"},
		{"short pcap", "\xd4\xc3\xb2\xa1\x02", ErrTruncated, "5 of 24 bytes"},
		{"short pcapng", "\x0a\x0d\x0d\x0a\x1c\x00", ErrTruncated, "6 of 12 bytes"},
		{"cut pcapng", string(ngVariants()[:20]), ErrTruncated, "20 of 44 bytes"},
		{"text", "hello, world, this is text\n", ErrUnknownFormat, `the text "hello, world, th"`},
		{"binary", "\x01\x02\x03\x04\x05", ErrUnknownFormat, "the bytes 01020304"},
		{"bzip2", "BZh91AY&SY", ErrUnknownFormat, "bzip2 data, which has to be decompressed first"},
		{"empty gzip", string(packers["gzip"](t, nil)), ErrEmpty, "empty file"},
		{"empty zstd", string(packers["zstd"](t, nil)), ErrEmpty, "empty file"},
		{"empty lz4", string(packers["lz4"](t, nil)), ErrEmpty, "empty file"},
		{"gzip of text", string(packers["gzip"](t, []byte("hello"))), ErrUnknownFormat, `the text "hello"`},
		{"cut gzip header", "\x1f\x8b\x08\x00\x00", ErrTruncated, "gzip data cut short"},
		{"bad gzip header", "\x1f\x8b\x09\x00\x00abcdefghijkl", ErrDamaged, "gzip data damaged: invalid header"},
		{"bad lz4", "\x04\x22\x4d\x18\x60\x40\xff" + strings.Repeat("x", 30), ErrDamaged, "lz4 data damaged"},
		{"skippable frames alone", "\x50\x2a\x4d\x18\x01\x00\x00\x00z", ErrUnknownFormat, "skippable frames"},
		{"cut skippable frame", "\x50\x2a\x4d\x18\xff\xff\xff\xffz", ErrTruncated, "zstd data cut short"},
		{"zstd window", string(big), ErrNotSupported, "window above 128 MiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := NewReader(strings.NewReader(c.data), "x", Options{})
			e := inputError(t, err)
			if !errors.Is(e, c.reason) || !e.Header || !strings.Contains(e.Error(), c.text) {
				t.Errorf("%v", e)
			}
		})
	}
	odd := errors.New("odd")
	if _, err := NewReader(iotest.ErrReader(odd), "x", Options{}); !errors.Is(err, odd) || !inputError(t, err).Header {
		t.Error(err)
	}
	data := packets64(FormatPcap, 100)
	for name, packed := range map[string][]byte{"plain": data, "gzip": packers["gzip"](t, data)} {
		src, err := NewReader(io.MultiReader(bytes.NewReader(packed[:len(packed)-1]), iotest.ErrReader(odd)), "x", Options{})
		if err != nil {
			t.Fatal(err)
		}
		w := readAll(t, src)
		if e := inputError(t, w.err); !errors.Is(e, odd) || errors.Is(e, ErrTruncated) || errors.Is(e, ErrDamaged) {
			t.Errorf("%s: %v", name, e)
		}
	}
	src, err := NewReader(io.MultiReader(bytes.NewReader(data[:30]), stuck{}), "x", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if w := readAll(t, src); !errors.Is(w.err, io.ErrNoProgress) {
		t.Error(w.err)
	}
}

// stuck never returns anything.
type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }
