// SPDX-License-Identifier: Apache-2.0

package xdp

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

// pollClock lets the program read the clock once for all packets of a poll, which reads
// for each packet would make a fifth slower. A driver polls its queue when there are
// packets, and takes at most 64 at a time (NAPI). When a poll ends, the kernel runs a
// second program (raw tracepoint napi_poll), which clears the stamp of its processor.
//
// A processor also begins a new stamp with each tick of the kernel, so that no stamp is
// older than that, whatever a driver does.
type pollClock struct {
	stamps   *ebpf.Map // of each processor: the stamp, 0 for none, and its tick
	attached link.Link
}

// Places in the map of a pollClock.
const (
	pollStampAt, pollTickAt = 0, 8
	pollEntryLen            = 16
)

// newPollClock returns nil where only the clock itself is right: without the privilege for
// tracepoints (CAP_PERFMON), and for a driver without polls.
func newPollClock(driver string) *pollClock {
	if !polls(driver) {
		return nil
	}
	p := &pollClock{}
	if p.open() != nil {
		p.close()
		return nil
	}
	return p
}

// polls reports whether a driver polls. That of virtual machines' taps hands over packets as they are
// written.
func polls(driver string) bool { return driver != "" && driver != "tun" }

func (p *pollClock) open() (err error) {
	p.stamps, err = ebpf.NewMap(&ebpf.MapSpec{Name: "flowdedup", Type: ebpf.PerCPUArray, KeySize: 4, ValueSize: pollEntryLen, MaxEntries: 1})
	if err != nil {
		return err
	}
	program, err := ebpf.NewProgramWithOptions(&ebpf.ProgramSpec{
		Name: "flowdedup", Type: ebpf.RawTracepoint, License: kernelLicence, Instructions: p.clear(),
	}, ebpf.ProgramOptions{LogDisabled: true})
	if err != nil {
		return err
	}
	defer program.Close() // the link keeps it
	p.attached, err = link.AttachRawTracepoint(link.RawTracepointOptions{Name: "napi_poll", Program: program})
	return err
}

func (p *pollClock) close() {
	if p == nil {
		return
	}
	if p.attached != nil {
		_ = p.attached.Close() // closes a file descriptor
	}
	if p.stamps != nil {
		_ = p.stamps.Close() // as above
	}
}
