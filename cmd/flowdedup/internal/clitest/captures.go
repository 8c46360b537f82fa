// SPDX-License-Identifier: Apache-2.0

package clitest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// Truth is the known content of a Bundled capture, from how it was made.
type Truth struct {
	Files      []string
	Identity   string
	Ignore     []string
	WindowNS   int64 `json:"window_ns"`
	Across     bool
	Packets    uint64
	Duplicates uint64
	Removed    []int
}

// Flags returns what makes the copies of a truth copies.
func (t *Truth) Flags() []string {
	flags := []string{"--identity", t.Identity, "--window", time.Duration(t.WindowNS).String()}
	if t.Ignore != nil {
		flags = append(flags, "--ignore", strings.Join(t.Ignore, ","))
	}
	if t.Across {
		flags = append(flags, "--across")
	}
	return flags
}

// Inputs returns the captures of a truth.
func (t *Truth) Inputs() (names []string) {
	for _, f := range t.Files {
		names = append(names, Bundled(f))
	}
	return names
}

// WritePart writes the packets of a capture for which part is true to a file, and returns
// their numbers.
func WritePart(t *testing.T, name, from string, part func(number int, b *capture.Batch, i int) bool) (numbers []int) {
	t.Helper()
	src, err := pcapfile.Open(from, pcapfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w := pcapfile.NewWriter(file, pcapfile.WriterOptions{})
	var b capture.Batch
	for number := 0; ; {
		err := src.Next(&b)
		if errors.Is(err, io.EOF) {
			break
		}
		drop := make([]uint64, (len(b.Frames)+63)/64)
		for i := range b.Frames {
			if part(number, &b, i) {
				numbers = append(numbers, number)
			} else {
				drop[i/64] |= 1 << (i % 64)
			}
			number++
		}
		if err := errors.Join(err, w.Write(&b, drop)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return numbers
}

// Encoded returns a capture of the packets of a batch.
func Encoded(t *testing.T, b *capture.Batch) []byte {
	t.Helper()
	var out bytes.Buffer
	w := pcapfile.NewWriter(&out, pcapfile.WriterOptions{})
	if err := errors.Join(w.Write(b, nil), w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Pcap is a pcap file that a test makes, with times in nanoseconds.
type Pcap []byte

// NewPcap returns a file of a link type without packets.
func NewPcap(link uint32) Pcap {
	le := binary.LittleEndian
	p := append(le.AppendUint32(nil, 0xa1b23c4d), 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	return le.AppendUint32(le.AppendUint32(p, 1<<18), link)
}

// Add appends a packet that came at a time since 1970, in nanoseconds.
func (p *Pcap) Add(at int64, packet []byte) {
	for _, n := range []int64{at / 1e9, at % 1e9, int64(len(packet)), int64(len(packet))} {
		*p = binary.LittleEndian.AppendUint32(*p, uint32(n))
	}
	*p = append(*p, packet...)
}

// Write makes a file of a name in a folder of its own.
func (p *Pcap) Write(t *testing.T, name string) string {
	t.Helper()
	return WriteInput(t, filepath.Join(t.TempDir(), name), *p)
}

const linkRaw = 101

// HourlyPcap makes a capture of IPv4 headers, one an hour.
func HourlyPcap(hours int) []byte {
	p := NewPcap(linkRaw)
	for i := range hours {
		p.Add(int64(i)*3600e9, []byte{0x45, 0, 0, 20, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, byte(i >> 8), byte(i), 10, 0, 0, 2})
	}
	return p
}

// SourcesPcap makes a capture of IPv4 headers with a packet at each of the given times (RFC 3339),
// each from a source of its own.
func SourcesPcap(t *testing.T, times ...string) []byte {
	t.Helper()
	p := NewPcap(linkRaw)
	for i, stamp := range times {
		at, err := time.Parse(time.RFC3339Nano, stamp)
		if err != nil {
			t.Fatal(err)
		}
		p.Add(at.UnixNano(), []byte{0x45, 0, 0, 20, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, byte(i), 10, 0, 1, 1})
	}
	return p
}

// RotatedFiles returns the files of an output, in order.
func RotatedFiles(t *testing.T, dir, stem string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, stem+"-*Z*"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// ReadFile returns the content of a file.
func ReadFile(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// WriteInput makes a file.
func WriteInput(t *testing.T, name string, data []byte) string {
	t.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// Entries returns the names in a folder.
func Entries(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}
