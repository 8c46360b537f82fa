// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/capture/xdp"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
)

// RingFlags define where and how packets are captured.
type RingFlags struct {
	Conf          afpacket.Config
	fanout        string
	capture       string // one of Captures
	takeInterface bool
}

// The ways to capture.
const (
	captureAFPacket = "afpacket"
	captureXDP      = "xdp"
)

// Captures are the values of --capture.
var Captures = []string{captureAFPacket, captureXDP}

// Fanouts are the names of afpacket.Fanout.
var Fanouts = []string{"hash", "cpu", "queue"}

// The size and the delay of ring blocks with --forward, for a latency of one or two
// milliseconds.
const (
	forwardTimeout    = time.Millisecond
	forwardBlockBytes = 64 << 10
)

func (f *RingFlags) RegisterInterfaces(fs *pflag.FlagSet) {
	fs.StringArrayVarP(&f.Conf.Interfaces, "interface", "i", nil, "capture from `IFACE`, or any; may be repeated")
	f.capture = captureAFPacket
	fs.Var(NewParsed(&f.capture, f.capture, "how", OneOf(Captures...)), "capture", "capture through AF_PACKET or AF_XDP: "+strings.Join(Captures, ", "))
	fs.BoolVar(&f.takeInterface, "take-interface", false, "with --capture xdp: take packets that the host needs")
	GroupInput.Add(fs, "interface", "capture")
	GroupAdvanced.Add(fs, "take-interface")
}

func (f *RingFlags) Register(fs *pflag.FlagSet) {
	c := &f.Conf
	c.RingBytes, c.BlockTimeout = afpacket.DefaultRingBytes, afpacket.DefaultBlockTimeout
	fs.Var(NewParsed(&c.RingBytes, show.Bytes(afpacket.DefaultRingBytes), "size", ParseMemory), "ring-size", "memory of each capture ring")
	fs.IntVar(&c.Rings, "rings", 1, "`N` rings per interface, which share its packets")
	f.fanout = Fanouts[0]
	fs.Var(NewParsed(&f.fanout, f.fanout, "how", OneOf(Fanouts...)), "fanout", "how rings share packets: by "+strings.Join(Fanouts, ", "))
	fs.Var(NewParsed(&c.BlockTimeout, c.BlockTimeout.String(), "duration", ParseDelay), "block-timeout", "longest wait of a packet in a ring (1ms with --forward)")
	fs.IntVarP(&c.SnapLen, "snaplen", "s", 0, "capture only `N` bytes of packets (0: all)")
	fs.BoolVar(&c.Promiscuous, "promiscuous", true, "capture in promiscuous mode")
	fs.BoolVar(&c.IgnoreOutgoing, "ignore-outgoing", false, "ignore packets that this host sends")
	fs.BoolVar(&c.HardwareTime, "hardware-time", false, "use timestamps of the network card, where it makes any")
	fs.BoolVar(&c.Wait, "wait", false, "keep running while an interface is down or gone")
	GroupInput.Add(fs, "snaplen", "promiscuous", "ignore-outgoing", "wait")
	GroupAdvanced.Add(fs, "ring-size", "rings", "fanout", "block-timeout", "hardware-time")
}

// XDP returns how to capture through AF_XDP, nil if that was not asked for.
func (f *RingFlags) XDP() *xdp.Config {
	if f.capture != captureXDP {
		return nil
	}
	return &xdp.Config{Take: f.takeInterface}
}

// Check rejects what no ring can do.
func (f *RingFlags) Check() error {
	switch {
	case slices.Contains(f.Conf.Interfaces, ""):
		return &usageError{errors.New("an interface's name is empty")}
	case f.Conf.Rings < 1:
		return &usageError{errors.New("--rings must be at least 1")}
	case f.capture != captureXDP && f.takeInterface:
		return &usageError{errors.New("--take-interface needs --capture xdp")}
	case f.capture == captureXDP && f.Conf.Rings > 1:
		return &usageError{errors.New("--capture xdp has one ring for each receive queue: use ethtool -L IFACE combined N instead of --rings")}
	}
	return nil
}

// RingConfig returns how to capture. forwarded says that packets are forwarded and should
// not wait.
func (f *RingFlags) RingConfig(cmd *cobra.Command, forwarded bool) afpacket.Config {
	c := f.Conf
	c.Fanout = afpacket.Fanout(slices.Index(Fanouts, f.fanout))
	if forwarded {
		c.BlockBytes = forwardBlockBytes
		if !cmd.Flags().Changed("block-timeout") {
			c.BlockTimeout = forwardTimeout
		}
	}
	return c
}
