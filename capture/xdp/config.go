// SPDX-License-Identifier: Apache-2.0

package xdp

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"time"

	"golang.org/x/net/bpf"

	"github.com/flowdedup/flowdedup/capture/afpacket"
)

// Config configures a capture. Only Interfaces is required. The fields that afpacket.Config
// has too mean the same.
type Config struct {
	// Interfaces names Ethernet interfaces. afpacket.Any is none of them.
	Interfaces []string
	// Take captures also from interfaces that the host uses: it loses their packets.
	Take bool
	// RingBytes is the memory for packets of each queue, in bytes, rounded down to a power
	// of two, at least 128 KiB and at most 1 GiB; 0 means afpacket.DefaultRingBytes. A packet
	// takes 2 KiB of it, or 4 KiB if the MTU is above 1,766.
	RingBytes int
	// SnapLen is how many bytes of a frame are kept; 0 means afpacket.MaxSnapLen.
	SnapLen int
	// Promiscuous makes the interfaces receive frames to other hosts too.
	Promiscuous bool
	// Filter is a classic BPF program for Ethernet frames, run on each frame before it is
	// copied. Nil takes all frames.
	Filter []bpf.RawInstruction
	// HardwareTime prefers timestamps of the network card, as afpacket.Config.HardwareTime. The
	// driver must report them to XDP programs (bpf_xdp_metadata_rx_timestamp, Linux 6.3).
	HardwareTime bool
	// Wait continues the capture while an interface is down, removed or not there yet: see
	// afpacket.Config.
	Wait bool
	// StartPaused leaves packets to the host until Capture.Start is called.
	StartPaused bool
	// Idle is how long Next waits for packets before it returns without any; 0 means
	// forever.
	Idle time.Duration
	// IdleNow, if not nil, returns Idle anew for each Next.
	IdleNow func() time.Duration
	// Delay is how long at most Next lets packets gather before it returns a small batch.
	// With none, a moderate rate costs a system call for every few packets. At high rates
	// they gather for less, so that RingBytes does not run full.
	Delay time.Duration
	// Warn, if not nil, gets the reasons why a capture is slower or incomplete. Open and Next
	// call it.
	Warn func(error)
}

// Why a capture cannot begin; test with errors.Is. Package afpacket has more reasons.
var (
	ErrInUse = errors.New("the host uses the interface and would lose its packets")
	ErrUnfit = errors.New("AF_XDP cannot capture from it")
)

const (
	minRingBytes = 128 << 10
	maxRingBytes = 1 << 30 // frames have offsets of 32 bits
)

// withDefaults returns c with every number in its range, or an error that names the
// invalid field.
func (c Config) withDefaults() (Config, error) {
	if len(c.Interfaces) == 0 {
		return c, fmt.Errorf("%w: no interface to capture from", afpacket.ErrConfig)
	}
	for i, name := range c.Interfaces {
		switch {
		case name == afpacket.Any:
			return c, fmt.Errorf("%s: %w: name each interface", name, ErrUnfit)
		case slices.Contains(c.Interfaces[:i], name):
			return c, fmt.Errorf("%w: interface %s is named twice", afpacket.ErrConfig, name)
		}
	}
	if c.RingBytes < 0 || c.SnapLen < 0 || c.Idle < 0 || c.Delay < 0 {
		return c, fmt.Errorf("%w: ring of %d bytes, snap length %d, no packets for %v, a delay of %v: must not be negative", afpacket.ErrConfig, c.RingBytes, c.SnapLen, c.Idle, c.Delay)
	}
	c.RingBytes = min(max(cmp.Or(c.RingBytes, afpacket.DefaultRingBytes), minRingBytes), maxRingBytes)
	c.RingBytes = 1 << (bits.Len(uint(c.RingBytes)) - 1)
	c.SnapLen = min(cmp.Or(c.SnapLen, afpacket.MaxSnapLen), afpacket.MaxSnapLen)
	if c.Warn == nil {
		c.Warn = func(error) {}
	}
	return c, nil
}
