// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/bench/live/pace"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/afpacket"
)

// forwarders send the packets that arrive at the interface right to the interface out.
// baseline-ring shows the delay of only the kernel and its scheduler.
var forwarders = []receiver{
	{name: "flowdedup", line: "flowdedup live -i right --forward out --json", count: summary},
	{name: "keep-first", line: "flowdedup live -i right --forward out --keep first --json", count: summary},
	{name: "baseline-ring", line: "baseline-ring right out", count: plain},
}

// delays measures the delay of forwarding at each load, in each round: from the kernel's
// timestamp of a packet on its way in to its timestamp behind the interface that it is
// forwarded to.
func (b *bench) delays() error {
	for range b.rounds {
		for _, load := range b.loads {
			for i := range forwarders {
				if err := b.delay(&forwarders[i], load); err != nil {
					return fmt.Errorf("%s: %w", forwarders[i].line, err)
				}
			}
		}
	}
	return nil
}

func (b *bench) delay(f *receiver, load int) error {
	frames := load * b.seconds
	p, err := start(f.line, processors(false), b.outputs)
	if err != nil {
		return err
	}
	in, inErr := openTap("right", frames)
	out, outErr := openTap("tool", frames)
	if err := errors.Join(inErr, outErr); err != nil {
		return err
	}
	_, sendErr := pace.Send("left", 0, frames, load)
	r, err := p.finish(f.count)
	if err := errors.Join(sendErr, err, in.end(), out.end()); err != nil {
		return err
	}
	delays := between(in.times, out.times)
	if len(delays) == 0 {
		return errors.New("nothing was forwarded")
	}
	millis := func(i int) float64 { return float64(delays[i]) / 1e6 }
	last := len(delays) - 1
	_, err = fmt.Fprintf(b.out, "command: %s\nBenchmarkForward/load=%d/forwarder=%s 1 %.4g ms-median %.4g ms-p99 %.4g ms-max %d sent %d captured %d dropped %d forwarded %.5g cpu-s\n",
		f.line, load, f.name, millis(last/2), millis(last*99/100), millis(last), frames, r.captured, r.dropped, len(delays), r.cpu.Seconds())
	return err
}

// tap records when it first saw each number of the traffic.
type tap struct {
	source *afpacket.Capture
	times  []int64 // when frames arrived; 0 for missing ones
	ended  chan struct{}
}

func openTap(name string, numbers int) (*tap, error) {
	source, err := afpacket.Open(afpacket.Config{Interfaces: []string{name}})
	if err != nil {
		return nil, err
	}
	t := &tap{source, make([]int64, numbers), make(chan struct{})}
	go t.read()
	return t, nil
}

// read runs on the sender's processor, so that the forwarder has one for itself.
func (t *tap) read() {
	defer close(t.ended)
	runtime.LockOSThread() // and the thread ends with the goroutine
	if pin(0) != nil {
		return
	}
	for b := (capture.Batch{}); t.source.Next(&b) == nil; {
		for i := range b.Frames {
			n := lab.Number(b.Data(i))
			if n < uint64(len(t.times)) && t.times[n] == 0 {
				t.times[n] = b.Frames[i].Time
			}
		}
	}
}

// end reads the remaining packets.
func (t *tap) end() error {
	t.source.Stop()
	<-t.ended
	return t.source.Close()
}

// between returns the delays of the packets that came out, in ascending order.
func between(in, out []int64) []time.Duration {
	var all []time.Duration
	for n := range in {
		if in[n] != 0 && out[n] != 0 {
			all = append(all, time.Duration(out[n]-in[n]))
		}
	}
	slices.Sort(all)
	return all
}
