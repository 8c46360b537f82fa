// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
)

// judgedBatch is a batch with the frames to drop, and its records if they are gathered.
type judgedBatch struct {
	capture.Batch
	drop     []uint64
	gathered bool
	Records
}

// judge reads all batches of a source, and chooses the frames to drop.
func judge(t *testing.T, src capture.Source, drop func(n int) bool) (all []*judgedBatch) {
	t.Helper()
	n := 0
	for {
		j := &judgedBatch{}
		if err := src.Next(&j.Batch); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		j.drop = make([]uint64, (len(j.Frames)+63)/64)
		for i := range j.Frames {
			if drop(n) {
				j.drop[i/64] |= 1 << (i % 64)
			}
			n++
		}
		all = append(all, j)
	}
}

// writeAhead writes batches, each gathered before the batches before it have been written, as far
// as the writer allows. It returns how many were.
func writeAhead(w RecordWriter, all []*judgedBatch, ahead int) (gathered int, err error) {
	for i := range len(all) + ahead {
		if i < len(all) {
			j := all[i]
			if j.gathered = w.Gather(&j.Records, &j.Batch, j.drop); j.gathered {
				gathered++
			}
		}
		if i < ahead {
			continue
		}
		if j := all[i-ahead]; j.gathered {
			err = w.WriteRecords(&j.Records)
		} else {
			err = w.Write(&j.Batch, j.drop)
		}
		if err != nil {
			return gathered, err
		}
	}
	return gathered, w.Close()
}

// recordModes give streams of batches that are longer than what is written without a copy.
var recordModes = []struct {
	name   string
	copies bool
	opt    WriterOptions
	inputs [][]byte
}{
	{"pcap", true, WriterOptions{}, [][]byte{packets64(capture.FormatPcap, 12_000)}},
	{"pcapng", true, WriterOptions{}, [][]byte{packets64(capture.FormatPcapNG, 10_000)}},
	{"two pcap", true, WriterOptions{Merged: true}, [][]byte{packets64(capture.FormatPcap, 6000), packets64(capture.FormatPcap, 7000)}},
	{"two pcap, one of which is encoded anew", false, WriterOptions{Merged: true}, [][]byte{packets64(capture.FormatPcap, 3000), capturetest.Pcap(1, 3000, 1, 0).Bytes()}},
	{"two pcapng of one section each", false, WriterOptions{Merged: true}, [][]byte{packets64(capture.FormatPcapNG, 3000), packets64(capture.FormatPcapNG, 3000)}},
	{"pcap to pcapng", true, WriterOptions{Format: capture.FormatPcapNG}, [][]byte{packets64(capture.FormatPcap, 12_000)}},
	{"two kinds of pcap to pcapng", true, WriterOptions{Merged: true, Format: capture.FormatPcapNG}, [][]byte{capturetest.Pcap(3, 3000, 1, 0).Bytes(), capturetest.Pcap(4, 9000, 1, 0).Bytes()}},
	{"pcap and pcapng to pcapng", false, WriterOptions{Merged: true, Format: capture.FormatPcapNG}, [][]byte{packets64(capture.FormatPcap, 6000), packets64(capture.FormatPcapNG, 6000)}},
	{"pcapng to pcap", false, WriterOptions{Format: capture.FormatPcap}, [][]byte{packets64(capture.FormatPcapNG, 6000)}},
}

// TestRecords writes the same bytes whether or not records are gathered ahead, and counts the
// same packets.
func TestRecords(t *testing.T) {
	for _, m := range recordModes {
		t.Run(m.name, func(t *testing.T) {
			for _, p := range capturetest.Patterns {
				rnd := rand.New(rand.NewPCG(1, 2))
				all := judge(t, openRecords(t, m.inputs), func(n int) bool { return p.Drop(rnd, n) })
				var want bytes.Buffer
				w := NewWriter(&want, m.opt)
				for _, j := range all {
					if err := w.Write(&j.Batch, j.drop); err != nil {
						t.Fatal(err)
					}
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				for ahead := range 4 {
					var got bytes.Buffer
					a := NewWriter(&got, m.opt).(RecordWriter)
					gathered, err := writeAhead(a, all, ahead)
					if err != nil || !bytes.Equal(got.Bytes(), want.Bytes()) || a.Written() != w.Written() {
						t.Errorf("%s, %d ahead: %v: %d bytes with %d packets, want %d with %d", p.Name, ahead, err, got.Len(), a.Written(), want.Len(), w.Written())
					}
					if some := gathered > 0; some != m.copies {
						t.Errorf("%s, %d ahead: %d of %d batches were gathered", p.Name, ahead, gathered, len(all))
					}
				}
			}
		})
	}
}

// TestRecordsLateInterface describes the interface of a pcapng input in a batch of its own: its
// packets are converted, as they are without gathering.
func TestRecordsLateInterface(t *testing.T) {
	all := judge(t, openRecords(t, [][]byte{capturetest.NG(binary.BigEndian, 20).Bytes()}), func(n int) bool { return n%3 == 0 })
	whole := all[0].Batch
	head := slices.IndexFunc(whole.Blocks, func(k capture.Block) bool { return k.Type == capture.BlockInterface })
	parts := []*judgedBatch{{Batch: whole}, {Batch: whole}, {Batch: whole, drop: all[0].drop}}
	parts[0].Frames, parts[0].Blocks, parts[0].Interfaces = nil, whole.Blocks[:head], nil
	parts[1].Frames, parts[1].Blocks = nil, nil
	for _, k := range whole.Blocks[head:] {
		if k.Before = 0; k.Type == capture.BlockInterface {
			parts[1].Blocks = append(parts[1].Blocks, k)
		}
	}
	parts[2].Blocks = nil
	var want, got bytes.Buffer
	w := NewWriter(&want, WriterOptions{Derived: true})
	for _, p := range parts {
		if err := w.Write(&p.Batch, p.drop); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := writeAhead(NewWriter(&got, WriterOptions{Derived: true}).(RecordWriter), parts, 0); err != nil || !bytes.Equal(got.Bytes(), want.Bytes()) {
		t.Errorf("%v: %d bytes, want %d", err, got.Len(), want.Len())
	}
}

// TestRecordsTime has a packet without a time, which gets the time of the last packet of the
// batch before: it is left to Write.
func TestRecordsTime(t *testing.T) {
	opt := WriterOptions{Format: capture.FormatPcapNG}
	all := judge(t, openRecords(t, recordModes[0].inputs), func(n int) bool { return n%5 == 4 })
	all[2].Frames[0].Time = capture.NoTime
	var want, got bytes.Buffer
	w := NewWriter(&want, opt)
	for _, j := range all {
		if err := w.Write(&j.Batch, j.drop); err != nil {
			t.Fatal(err)
		}
	}
	a := NewWriter(&got, opt).(RecordWriter)
	gathered, err := writeAhead(a, all, 0)
	if err = errors.Join(err, w.Close()); err != nil || !bytes.Equal(got.Bytes(), want.Bytes()) {
		t.Errorf("%v: other bytes", err)
	}
	if gathered == 0 || all[2].gathered || !all[1].gathered {
		t.Errorf("%d batches gathered", gathered)
	}
}

// openRecords opens captures, merged if there are several.
func openRecords(t *testing.T, inputs [][]byte) capture.Source {
	t.Helper()
	var all []capture.Source
	for i, data := range inputs {
		src, err := NewReader(bytes.NewReader(data), string(rune('a'+i)), Options{})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, src)
	}
	if len(all) == 1 {
		return all[0]
	}
	return Merge(all, nil)
}

// TestRecordsFull fills a disk at many places: the first error comes back from every later
// call, and the packets that are counted as written are in the file, whole.
func TestRecordsFull(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	all := judge(t, openRecords(t, recordModes[0].inputs), func(int) bool { return rnd.IntN(900) == 0 })
	var whole bytes.Buffer
	if _, err := writeAhead(NewWriter(&whole, WriterOptions{}).(RecordWriter), all, 2); err != nil {
		t.Fatal(err)
	}
	for room := 0; room < whole.Len(); room += 1 + rnd.IntN(50_000) {
		w := NewWriter(&failAfter{room}, WriterOptions{}).(RecordWriter)
		if _, err := writeAhead(w, all, 2); !errors.Is(err, errFull) {
			t.Fatalf("room for %d bytes: %v", room, err)
		}
		for _, j := range all[len(all)-1:] {
			if err := errors.Join(w.WriteRecords(&j.Records), w.Write(&j.Batch, nil)); !errors.Is(err, errFull) {
				t.Errorf("room for %d bytes: then %v", room, err)
			}
		}
		if most := max(room-PcapHeaderLen, 0) / (pcapRecordLen + 64); w.Written() > uint64(most) {
			t.Errorf("room for %d bytes: %d packets counted, and %d fit", room, w.Written(), most)
		}
	}
}

// TestRecordsAllocate gathers batches in turn in the same memory, and leaves batches
// that would need much of it to Write.
func TestRecordsAllocate(t *testing.T) {
	all := judge(t, openRecords(t, recordModes[0].inputs), func(n int) bool { return n%3 == 0 })
	var r Records
	for _, format := range []capture.Format{0, capture.FormatPcapNG} {
		w, next := NewWriter(io.Discard, WriterOptions{Format: format}).(RecordWriter), 0
		if _, err := writeAhead(w, all, 0); err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(100, func() {
			j := all[1+next%2]
			next++
			if !w.Gather(&r, &j.Batch, j.drop) {
				t.Fatal("not gathered")
			}
		}); n > 0 {
			t.Errorf("%v: %v allocations for each batch", format, n)
		}
		large := all[1].Batch
		if large.Buf = make([]byte, maxRecords+1); w.Gather(&r, &large, nil) {
			t.Errorf("%v: memory of %d bytes for each worker", format, len(large.Buf))
		}
	}
}
