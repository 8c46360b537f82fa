// SPDX-License-Identifier: Apache-2.0

package clitest

import (
	"errors"
	"io"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// Record is everything about a packet that an output must keep.
type Record struct {
	Time int64
	Wire uint32
	Data string
}

// CompareRecords expects the same packets in the same order.
func CompareRecords(t *testing.T, what string, got, want []Record) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d packets, want %d", what, len(got), len(want))
		return
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%s: packet %d differs", what, i)
			return
		}
	}
}

// ReadAll reads the packets of all files in time order.
func ReadAll(t *testing.T, names ...string) []Record {
	t.Helper()
	var sources []capture.Source
	for _, name := range names {
		src, err := pcapfile.Open(name, pcapfile.Options{})
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, src)
	}
	src := pcapfile.Merge(sources, nil)
	defer src.Close()
	var out []Record
	var b capture.Batch
	for {
		err := src.Next(&b)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range b.Frames {
			out = append(out, Record{f.Time, f.WireLen, string(b.Data(i))})
		}
	}
}

// FramesOf returns the packets of a capture file.
// canIP reports whether ip(8) can do something; small kernels lack parts.
func FramesOf(t *testing.T, name string) (frames []string) {
	t.Helper()
	src, err := pcapfile.Open(name, pcapfile.Options{Warn: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	for b := (capture.Batch{}); src.Next(&b) == nil; {
		for i := range b.Frames {
			frames = append(frames, string(b.Data(i)))
		}
	}
	return frames
}
