// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/bench/live/pace"
)

// inRounds runs every receiver with every sender in each round, and prints a result for
// each run. A sender that fails without a receiver is left out. A receiver that fails
// with a sender is not run with it again.
func (b *bench) inRounds() error {
	there := b.available()
	var errs []error
	for _, sender := range b.senders {
		if _, err := b.send(sender, func() error { return nil }); err != nil {
			b.note("left out: sender %s: %v", sender, err)
			continue
		}
		failed := map[string]bool{}
		for round := range b.rounds {
			b.note("round %d of %d with %s, %d receivers", round+1, b.rounds, sender, len(there))
			for i := range there {
				r := &there[i]
				if failed[r.name] || r.driver && sender == "xdp" {
					continue
				}
				if err := b.runReceiver(r, sender); err != nil {
					failed[r.name] = true
					errs = append(errs, err)
				}
			}
		}
	}
	return errors.Join(errs...)
}

// runReceiver measures a receiver and prints the result.
func (b *bench) runReceiver(r *receiver, sender string) error {
	out, in, err := b.measure(r, func(p *process) (sent, error) { return b.send(sender, p.halfway) })
	if err != nil {
		return err
	}
	return b.print(r, sender, out, in)
}

// measure runs a receiver while frames are sent.
func (b *bench) measure(r *receiver, send func(p *process) (sent, error)) (out sent, in result, err error) {
	dir := filepath.Join(b.outputs, r.name)
	if err := os.Mkdir(dir, 0o777); err != nil {
		return out, in, err
	}
	defer os.RemoveAll(dir)
	p, err := start(r.line, processors(r.spread), dir)
	if err != nil {
		return out, in, err
	}
	out, sendErr := send(p)
	in, err = p.finish(r.count)
	if err := errors.Join(sendErr, err); err != nil {
		return out, in, fmt.Errorf("%s: %w", r.line, err)
	}
	return out, in, nil
}

func (b *bench) print(r *receiver, sender string, out sent, in result) error {
	where := "one"
	if r.spread {
		where = "all"
	}
	copies := ""
	if in.found {
		copies = fmt.Sprintf(" %d copies", in.copies)
	}
	_, err := fmt.Fprintf(b.out, "command: %s\nprocessors: %s\nBenchmarkLive/sender=%s/receiver=%s 1 %.5g sent/s %d sent %d captured "+
		"%d dropped %.5g cpu-s %.5g packets/cpu-s %.5g later-packets/cpu-s %.5g peak-MiB %d repeats%s\n",
		r.line, where, sender, r.name, float64(out.frames)/out.took.Seconds(), out.frames, in.captured, in.dropped,
		in.cpu.Seconds(), float64(in.captured)/in.cpu.Seconds(), float64(in.captured)/2/in.later.Seconds(), float64(in.peak)/(1<<20), lab.Repeats(out.frames), copies)
	return err
}

// sent is the outcome of a sender.
type sent struct {
	frames uint64
	took   time.Duration
}

// send runs the named sender in two halves, and calls pause between them. The time is the
// time of only sending.
func (b *bench) send(sender string, pause func() error) (sent, error) {
	switch frames := b.frames[sender]; sender {
	case "xdp":
		return inject(frames, pause, func() (*lab.Generator, error) { return lab.NewGenerator("right", lab.MinFrame) })
	case "pair":
		return inject(frames, pause, func() (*lab.Generator, error) { return lab.NewPeerGenerator("left", lab.MinFrame) })
	case "sendmmsg":
		return halves(frames, pause, func(from, n int) (uint64, error) {
			sent, err := pace.Send("left", uint64(from), n, b.rate)
			return uint64(from) + sent, err
		})
	default:
		return sent{}, fmt.Errorf("no sender %q: xdp, pair or sendmmsg", sender)
	}
}

// inject makes a generator put frames into the receivers' interface.
func inject(frames int, pause func() error, generator func() (*lab.Generator, error)) (sent, error) {
	g, err := generator()
	if err != nil {
		return sent{}, err
	}
	defer g.Close()
	return halves(frames, pause, func(from, n int) (done uint64, err error) {
		end := uint64(from + n)
		for done = uint64(from); done < end && err == nil; { // a signal ends a run early
			if err = g.Run(int(end - done)); err == nil {
				done, err = g.Injected()
			}
		}
		return done, err
	})
}

// halves sends half of the frames, pauses, and sends the rest. send sends n frames from
// the given one on, and returns how many were sent in all.
func halves(frames int, pause func() error, send func(from, n int) (uint64, error)) (s sent, err error) {
	for _, half := range []int{frames / 2, frames - frames/2} {
		if s.frames > 0 {
			if err := pause(); err != nil {
				return s, err
			}
		}
		begin := time.Now()
		s.frames, err = send(int(s.frames), half)
		s.took += time.Since(begin)
		if err != nil {
			return s, err
		}
	}
	return s, nil
}
