// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// noted is a destination that records its calls.
type noted struct {
	fail   error  // of Write
	lazy   bool   // it takes packets, and writes none for now
	end    error  // of commit
	ends   func() // commit calls it; nil for nothing
	again  bool   // it can be tried again
	taken  []uint64
	out    uint64
	lost   uint64
	events []string
}

func (d *noted) Write(b *capture.Batch, drop []uint64) error {
	n := trafficOf(b, capture.Complement(nil, drop, len(b.Frames))).packets
	if d.fail != nil {
		d.lost += n
		return d.fail
	}
	d.taken = append(d.taken, drop...)
	if !d.lazy {
		d.out += n
	}
	return nil
}

func (d *noted) note(event string, err error) error {
	d.events = append(d.events, event)
	return err
}

func (d *noted) commit() error {
	if d.ends != nil {
		d.ends()
	}
	return d.note("commit", d.end)
}
func (d *noted) keep(bool) error { return d.note("keep", nil) }
func (d *noted) discard() error  { return d.note("discard", nil) }
func (d *noted) retries() bool   { return d.again }
func (d *noted) counts() outcome {
	return outcome{written: d.out, lost: d.lost, files: uint64(len(d.taken))}
}

var errFull = errors.New("full")

// newSet returns a live or other set with the outputs a and b, its log, and how often it
// ended the run.
func newSet(live bool, a, b *noted) (s *Set, logged *bytes.Buffer, stops *int) {
	logged, stops = &bytes.Buffer{}, new(int)
	s = New(context.Background(), Config{
		Live: live, Log: slog.New(slog.NewTextHandler(logged, nil)), Stop: func() { *stops++ },
	})
	s.outputs = []*output{{destination: a, name: "a"}, {destination: b, name: "b"}}
	return s, logged, stops
}

// twoPackets returns a batch of a kept packet of 5 bytes and its copy of 7.
func twoPackets() (*capture.Batch, []uint64) {
	return &capture.Batch{Frames: []capture.Frame{{CapLen: 5}, {CapLen: 7}}}, []uint64{0b10}
}

// TestSet checks that outputs get their packets, and that these are counted.
func TestSet(t *testing.T) {
	kept, removed := &noted{}, &noted{}
	s, logged, _ := newSet(true, kept, removed)
	s.outputs[1].removed = true
	for range 2 {
		if err := s.Write(twoPackets()); err != nil {
			t.Fatal(err)
		}
	}
	want := []Output{{Name: "a", Packets: 2, Bytes: 10, Files: 2}, {Name: "b", Packets: 2, Bytes: 14, Files: 2}}
	if got := s.List(); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if !slices.Equal(kept.taken, []uint64{0b10, 0b10}) || !slices.Equal(removed.taken, []uint64{0b01, 0b01}) || logged.Len() > 0 {
		t.Errorf("left out of the kept %b, of the removed %b; logged %s", kept.taken, removed.taken, logged)
	}
	if err := s.Commit(); err != nil || fmt.Sprint(kept.events, removed.events) != "[commit] [commit]" {
		t.Errorf("%v, %q, %q", err, kept.events, removed.events)
	}
}

// TestLastWarnings has two outputs warn as they end, the second first.
func TestLastWarnings(t *testing.T) {
	a, b := &noted{}, &noted{}
	s, logged, _ := newSet(false, a, b)
	second := make(chan struct{})
	a.ends = func() {
		<-second
		s.warner("a", "a/1")(errFull)
	}
	b.ends = func() {
		s.warner("b", "b")(errFull)
		close(second)
	}
	s.warner("b", "early")(errFull)
	if err := s.Commit(); err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, word := range strings.Fields(logged.String()) {
		if name, ok := strings.CutPrefix(word, "msg="); ok {
			order = append(order, name)
		}
	}
	if !slices.Equal(order, []string{"early", "a/1", "b"}) {
		t.Errorf("logged %s", logged)
	}
}

// TestFirstFailure checks that an offline run ends with the first failure, and that the
// other output gets the batch.
func TestFirstFailure(t *testing.T) {
	a, b := &noted{fail: errFull}, &noted{}
	s, _, _ := newSet(false, a, b)
	if err := s.Write(twoPackets()); !errors.Is(err, ErrOutput) || err.Error() != "full" {
		t.Errorf("Write: %v", err)
	}
	if err := s.Keep(); err != nil || fmt.Sprint(a.events, b.events) != "[keep] [keep]" || b.out != 1 {
		t.Errorf("%v, %q, %q, %d packets", err, a.events, b.events, b.out)
	}
}

// TestOthersGoOn checks that a live run ends only with its last output, and that the packets
// judged until then count as lost.
func TestOthersGoOn(t *testing.T) {
	a, b := &noted{}, &noted{fail: errFull}
	s, logged, stops := newSet(true, a, b)
	for range 2 {
		if err := s.Write(twoPackets()); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.List(); got[0].Packets != 2 || got[0].Failed != "" || got[1].Packets != 0 || got[1].Lost != 2 || got[1].Failed != "full" {
		t.Errorf("%+v", got)
	}
	for _, removed := range []bool{true, false} {
		if s.outputs[1].removed = removed; s.Complete() != removed {
			t.Errorf("complete %v, though the other one lost removed packets: %v", s.Complete(), removed)
		}
	}
	if got := logged.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `msg="output failed" output=b error=full`) || *stops != 0 {
		t.Errorf("%d stops, logged %s", *stops, got)
	}
	a.fail = errors.New("gone")
	for range 2 {
		if err := s.Write(twoPackets()); err != nil || *stops != 1 {
			t.Errorf("the last one failed: %d stops, %v", *stops, err)
		}
	}
	if err := s.Commit(); !errors.Is(err, ErrOutput) || err.Error() != "gone (2 packets lost)\nfull (4 packets lost)" || fmt.Sprint(a.events, b.events) != "[keep] [keep]" {
		t.Errorf("%v, %q, %q", err, a.events, b.events)
	}
}

// TestWorksAgain checks that an output is reported to work again when a packet was
// written, not when one was accepted.
func TestWorksAgain(t *testing.T) {
	a, b := &noted{}, &noted{again: true}
	s, logged, _ := newSet(true, a, b)
	for _, step := range []struct {
		fail error
		lazy bool
	}{{nil, false}, {errFull, false}, {nil, true}, {errFull, false}, {nil, true}, {nil, false}, {errFull, false}, {nil, false}} {
		b.fail, b.lazy = step.fail, step.lazy
		if err := s.Write(twoPackets()); err != nil {
			t.Fatal(err)
		}
	}
	if got := logged.String(); strings.Count(got, "output failed") != 2 || strings.Count(got, "works again") != 2 {
		t.Errorf("logged %s", got)
	}
	const want = "3 packets lost until the output worked again, after: full"
	if err := s.Commit(); !errors.Is(err, ErrOutput) || errors.Is(err, errFull) || err.Error() != want || !slices.Equal(b.events, []string{"commit"}) {
		t.Errorf("%v, %q", err, b.events)
	}
}

// TestNothingLost checks that an output which failed while nothing was to be written, and works
// again, does not fail the run. One that still fails does.
func TestNothingLost(t *testing.T) {
	for _, works := range []bool{true, false} {
		a, b := &noted{}, &noted{again: true, fail: errFull}
		s, logged, _ := newSet(true, a, b)
		two, _ := twoPackets()
		if err := s.Write(two, []uint64{0b11}); err != nil {
			t.Fatal(err)
		}
		if works {
			b.fail = nil
			if err := s.Write(twoPackets()); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Commit(); (err == nil) != works || strings.Count(logged.String(), "output failed") != 1 {
			t.Errorf("works %v: %v; logged %s", works, err, logged)
		}
	}
}

// TestReaderLeft checks that the capture ends, and that other outputs get the rest of it.
func TestReaderLeft(t *testing.T) {
	a, b := &noted{fail: fmt.Errorf("write: %w", syscall.EPIPE)}, &noted{}
	s, logged, stops := newSet(true, a, b)
	for range 3 {
		if err := s.Write(twoPackets()); err != nil {
			t.Fatal(err)
		}
	}
	if len(b.taken) != 3 || *stops != 1 || logged.Len() > 0 {
		t.Errorf("%d batches, %d stops, logged %s", len(b.taken), *stops, logged)
	}
	if err := s.Commit(); !errors.Is(err, syscall.EPIPE) || fmt.Sprint(a.events, b.events) != "[keep] [commit]" {
		t.Errorf("%v, %q, %q", err, a.events, b.events)
	}
}

// unclosable is a writer that cannot flush its buffer.
type unclosable struct{ capture.Writer }

func (unclosable) Close() error { return errFull }

// TestLastWriteFails checks that a failure while an output is completed fails the run,
// and says where the packets are.
func TestLastWriteFails(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "out.pcap")
	if err := os.WriteFile(name, []byte("older"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := outfile.Create(context.Background(), name, outfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(file, "packets"); err != nil {
		t.Fatal(err)
	}
	s := New(context.Background(), Config{})
	d := &single{file: file, writer: unclosable{pcapfile.NewWriter(file, pcapfile.WriterOptions{})}, log: slog.New(slog.DiscardHandler)}
	s.outputs = []*output{{destination: d, name: name}}
	partial := filepath.Join(dir, "out.partial.pcap")
	if err := s.Commit(); !errors.Is(err, ErrOutput) || !errors.Is(err, errFull) || !strings.Contains(err.Error(), partial) {
		t.Errorf("Commit: %v", err)
	}
	for file, want := range map[string]string{name: "older", partial: "packets"} {
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v", file, got, err)
		}
	}
}
