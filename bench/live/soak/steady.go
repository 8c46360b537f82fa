// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// steadyLine is the command under test without faults. Packets go to a pipe, so that
// their reader can count them without a disk for the packets of an hour.
const steadyLine = "live -i right --window 200ms --memory 64MiB --of src,dst,flow --every 1m --reports rows.jsonl -w - --http 9469 --json"

const duplicates = "flowdedup_duplicates_total"

// steady runs without faults. In the end each frame that arrived has been written, was a
// copy, or was dropped by the kernel. A frame is written twice only if the sender or its
// processor paused for longer than the window between it and its copy.
func (s *soak) steady() error {
	if err := lab.ReceiveOffload("right"); err != nil {
		return err
	}
	packets, into, err := os.Pipe()
	if err != nil {
		return err
	}
	if err := s.launch(steadyLine, into); err != nil {
		return err
	}
	for range 100 { // frames from before the start are not captured
		if strings.Contains(s.log(), " started ") {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	var written tally
	counted := make(chan error, 1)
	go func() { counted <- written.read(packets) }()
	stop, stopped := make(chan struct{}), make(chan error, 1)
	s.begin = time.Now()
	go func() { stopped <- s.inject(stop) }()
	fmt.Fprintln(s.out, sampleHead)
	err = s.course(nil)
	close(stop)
	err = errors.Join(err, <-stopped)
	time.Sleep(recovery) // the last frames are on their way
	err = errors.Join(err, s.sample("sender stopped"), s.interrupt(), into.Close(), <-counted)
	if err != nil {
		return err
	}
	there, err := arrived()
	return errors.Join(err, s.checkGrowth(), s.checkCounts(there, &written))
}

// inject sends frames in bursts, at the rate, until stop is closed. The kernel waits for
// all processors after each burst, some 10 ms or more, so bursts are long.
func (s *soak) inject(stop <-chan struct{}) error {
	const between = 100 * time.Millisecond
	g, err := lab.NewPeerGenerator("left", lab.MinFrame)
	if err != nil {
		return err
	}
	defer g.Close()
	for next := s.begin; ; time.Sleep(time.Until(next)) {
		select {
		case <-stop:
			return nil
		default:
		}
		next = next.Add(between)
		due := int(time.Since(s.begin).Seconds() * float64(s.rate))
		if err := g.Run(max(1, min(due-int(s.sent.Load()), s.rate))); err != nil {
			return err
		}
		sent, err := g.Injected()
		if err != nil {
			return err
		}
		s.sent.Store(sent)
	}
}

// arrived returns how many frames the captured interface has received. A pair of
// interfaces refuses frames when the queue between them is full.
func arrived() (uint64, error) {
	text, err := os.ReadFile("/proc/self/net/dev")
	if err != nil {
		return 0, err
	}
	const packetsColumn = 1 // after the name and the bytes
	for line := range strings.Lines(string(text)) {
		name, columns, _ := strings.Cut(line, ":")
		if f := strings.Fields(columns); strings.TrimSpace(name) == "right" && len(f) > packetsColumn {
			return strconv.ParseUint(f[packetsColumn], 10, 64)
		}
	}
	return 0, errors.New("no interface right")
}

// tally counts frames of the lab's traffic.
type tally struct {
	frames, again uint64
	last          [1 << 16]uint64 // numbers, each at its lowest bits, plus 1
}

// read counts the frames of a capture.
func (t *tally) read(from io.Reader) error {
	r, err := pcapfile.NewReader(from, "pipe", pcapfile.Options{})
	if err != nil {
		return err
	}
	defer r.Close()
	var b capture.Batch
	for {
		err := r.Next(&b)
		for i := range b.Frames {
			t.count(lab.Number(b.Data(i)))
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// count counts the frame with a number. A copy comes within some hundred frames, so a
// frame that is far behind another with the same lowest bits is a fault of its own.
func (t *tally) count(number uint64) {
	last := &t.last[number%uint64(len(t.last))]
	if *last > number {
		t.again++
	}
	t.frames, *last = t.frames+1, number+1
}

// checkCounts requires an account of every frame that arrived.
func (s *soak) checkCounts(there uint64, written *tally) error {
	last, sent := s.samples[len(s.samples)-1], s.sent.Load()
	copies, lost, repeats := uint64(last.shown[duplicates]), uint64(last.shown[dropped]), lab.Repeats(sent)
	fmt.Fprintf(s.out, "%d sent in %v, %d arrived = %d written + %d copies + %d dropped; %d written twice; the traffic has %d copies\n",
		sent, last.when.Sub(s.begin).Round(time.Second), there, written.frames, copies, lost, written.again, repeats)
	if there != written.frames+copies+lost || there == sent && lost == 0 && copies+written.again != repeats {
		return errors.New("the counts do not agree")
	}
	return nil
}
