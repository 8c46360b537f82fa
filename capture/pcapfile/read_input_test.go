// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
)

// samples are captures of both formats in memory.
func samples() map[string][]byte {
	out := pcapVariants()
	out["pcapng"] = ngVariants()
	out["pcap-cut"] = out["us-little"][:len(out["us-little"])-3]
	out["pcapng-cut"] = out["pcapng"][:len(out["pcapng"])-30]
	out["small"] = packets64(capture.FormatPcap, 2000)
	out["pcap-zeros"] = slices.Concat(out["us-big"], make([]byte, 1000), out["us-big"][24:])
	out["pcap-blank"] = slices.Concat(out["ns-little"], make([]byte, 16), out["small"][24:], make([]byte, 16))
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
		{"empty", "", capture.ErrEmpty, "x: offset 0: empty file"},
		{"one byte", "\xd4", capture.ErrTruncated, "1 of at least 24 bytes"},
		{"short pcap", "\xd4\xc3\xb2\xa1\x02", capture.ErrTruncated, "5 of 24 bytes"},
		{"short pcapng", "\x0a\x0d\x0d\x0a\x1c\x00", capture.ErrTruncated, "6 of 12 bytes"},
		{"cut pcapng", string(ngVariants()[:20]), capture.ErrTruncated, "20 of 44 bytes"},
		{"text", "hello, world, this is text\n", capture.ErrUnknownFormat, `the text "hello, world, th"`},
		{"binary", "\x01\x02\x03\x04\x05", capture.ErrUnknownFormat, "the bytes 01020304"},
		{"bzip2", "BZh91AY&SY", capture.ErrUnknownFormat, "bzip2 data, which has to be decompressed first"},
		{"empty gzip", string(packers["gzip"](t, nil)), capture.ErrEmpty, "empty file"},
		{"empty zstd", string(packers["zstd"](t, nil)), capture.ErrEmpty, "empty file"},
		{"empty lz4", string(packers["lz4"](t, nil)), capture.ErrEmpty, "empty file"},
		{"gzip of text", string(packers["gzip"](t, []byte("hello"))), capture.ErrUnknownFormat, `the text "hello"`},
		{"cut gzip header", "\x1f\x8b\x08\x00\x00", capture.ErrTruncated, "gzip data cut short"},
		{"bad gzip header", "\x1f\x8b\x09\x00\x00abcdefghijkl", capture.ErrDamaged, "gzip data damaged: invalid header"},
		{"bad lz4", "\x04\x22\x4d\x18\x60\x40\xff" + strings.Repeat("x", 30), capture.ErrDamaged, "lz4 data damaged"},
		{"skippable frames alone", "\x50\x2a\x4d\x18\x01\x00\x00\x00z", capture.ErrUnknownFormat, "skippable frames"},
		{"cut skippable frame", "\x50\x2a\x4d\x18\xff\xff\xff\xffz", capture.ErrTruncated, "zstd data cut short"},
		{"zstd window", string(big), capture.ErrNotSupported, "window above 128 MiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := NewReader(strings.NewReader(c.data), "x", Options{})
			e := inputError(t, err)
			if !errors.Is(e, c.reason) || !e.Header || !strings.Contains(e.Error(), c.text) {
				t.Errorf("%v", e)
			}
		})
	}
}

// A failed read is a ReadError, never an InputError, also below decompressors.
func TestFailedReads(t *testing.T) {
	failure := &fs.PathError{Op: "read", Path: "/x", Err: syscall.EIO}
	_, err := NewReader(iotest.ErrReader(failure), "x", Options{})
	checkReadError(t, err, syscall.EIO, 0)
	data := packets64(capture.FormatPcap, 8000)
	inputs := map[string][]byte{"plain": data, "twice": packers["gzip"](t, packers["zstd"](t, data))}
	for name, f := range packers {
		inputs[name] = f(t, data)
	}
	for name, stored := range inputs {
		t.Run(name, func(t *testing.T) {
			src, err := NewReader(io.MultiReader(bytes.NewReader(stored[:len(stored)-1]), iotest.ErrReader(failure)), "x", Options{})
			if err != nil {
				t.Fatal(err)
			}
			w := readAll(t, src)
			checkReadError(t, w.err, syscall.EIO, 24+80*int64(len(w.packets)))
			if name == "plain" && len(w.packets) != 7999 {
				t.Errorf("%d packets before the error", len(w.packets))
			}
		})
	}
	src, err := NewReader(io.MultiReader(bytes.NewReader(data[:30]), stuck{}), "x", Options{})
	if err != nil {
		t.Fatal(err)
	}
	checkReadError(t, readAll(t, src).err, io.ErrNoProgress, 24)
}

// checkReadError checks that err is a ReadError, not an InputError, with this reason and
// offset.
func checkReadError(t *testing.T, err, reason error, offset int64) {
	t.Helper()
	var failed *capture.ReadError
	var damaged *capture.InputError
	if !errors.As(err, &failed) || errors.As(err, &damaged) || !errors.Is(err, reason) || failed.Offset != offset ||
		err.Error() != fmt.Sprintf("x: offset %d: read error: %v", offset, reason) {
		t.Errorf("%v (%T), want a read error at %d", err, err, offset)
	}
}

// stuck never returns anything.
type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

// No length field allocates memory before its bytes have come.
func TestLengthsDoNotAllocate(t *testing.T) {
	o := binary.LittleEndian
	packet := capturetest.PcapRecord(capturetest.PcapHeader(o, magicMicroseconds, 2, 4, 0, 189), o, 1, 2, maxCapLenBig, maxCapLenBig)
	block := append(capturetest.SectionBlock(o, 1, 0), 0x99, 0, 0, 0, 0, 0, 0, 8) // 128 MiB
	first := capturetest.SectionBlock(o, 1, 0)
	o.PutUint32(first[4:], 128<<20)
	for name, data := range map[string][]byte{"record": packet, "block": append(block, 0, 0, 0, 0), "header": first} {
		var m0, m1 runtime.MemStats
		runtime.ReadMemStats(&m0)
		src, err := NewReader(bytes.NewReader(data), "x", Options{})
		if err == nil {
			err = readAll(t, src).err
		}
		runtime.ReadMemStats(&m1)
		if !errors.Is(err, capture.ErrTruncated) {
			t.Errorf("%s: %v", name, err)
		}
		if n := m1.TotalAlloc - m0.TotalAlloc; n > 4<<20 {
			t.Errorf("%s: allocated %d bytes", name, n)
		}
	}
}

// endless repeats a capture's records.
type endless struct {
	head, body []byte
	off        int
}

func (e *endless) Read(p []byte) (int, error) {
	if len(e.head) > 0 {
		n := copy(p, e.head)
		e.head = e.head[n:]
		return n, nil
	}
	n := 0
	for n < len(p) {
		m := copy(p[n:], e.body[e.off:])
		n += m
		e.off = (e.off + m) % len(e.body)
	}
	return n, nil
}

func newEndless(f capture.Format) *endless {
	data := packets64(f, 1000)
	head := PcapHeaderLen
	if f == capture.FormatPcapNG {
		head = encoding.MinSectionLen + encoding.MinInterfaceLen
	}
	return &endless{head: data[:head], body: data[head:]}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	sources := map[string]func() capture.Source{}
	for _, f := range []capture.Format{capture.FormatPcap, capture.FormatPcapNG} {
		one := func() capture.Source {
			src, err := NewReader(newEndless(f), "endless", Options{})
			if err != nil {
				t.Fatal(err)
			}
			return src
		}
		sources[f.String()] = one
		sources["concat "+f.String()] = func() capture.Source { return Concat([]capture.Source{one(), one()}) }
		sources["merge "+f.String()] = func() capture.Source { return Merge([]capture.Source{one(), one(), one()}, nil) }
	}
	for name, f := range sources {
		src := f()
		var b capture.Batch
		next := func() {
			if err := src.Next(&b); err != nil {
				t.Fatal(err)
			}
		}
		for range 20 {
			next()
		}
		if n := testing.AllocsPerRun(50, next); n != 0 {
			t.Errorf("%s: %v allocations a batch", name, n)
		}
	}
}
