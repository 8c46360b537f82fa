package pcapfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
)

// A length field makes nothing be allocated before the bytes have come.
func TestLengthsDoNotAllocate(t *testing.T) {
	o := binary.LittleEndian
	packet := pcapRecord(pcapHeader(o, magicMicroseconds, 2, 4, 0, 189), o, 1, 2, maxCapLenBig, maxCapLenBig)
	block := append(sectionBlock(o, 1, 0), 0x99, 0, 0, 0, 0, 0, 0, 8) // 128 MiB
	first := sectionBlock(o, 1, 0)
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
	head := pcapHeaderLen
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
