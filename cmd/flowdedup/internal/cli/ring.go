// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/capture/xdp"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
)

// RingFlags define where and how packets are captured.
type RingFlags struct {
	Conf          afpacket.Config
	fanout        string
	capture       string // a word of captures
	takeInterface bool
}

// The ways to capture.
const (
	captureAFPacket = "afpacket"
	captureXDP      = "xdp"
)

// captures are the values of --capture.
var captures = []string{captureAFPacket, captureXDP}

// fanouts are the names of afpacket.Fanout.
var fanouts = []string{"hash", "cpu", "queue"}

// The size and the delay of ring blocks with --forward, for a latency of one or two
// milliseconds.
const (
	forwardTimeout    = time.Millisecond
	forwardBlockBytes = 64 << 10
)

// InterfaceFlags returns the flags for the sources and the method of a capture. from names
// more sources in the help, and complete lists sources.
func (f *RingFlags) InterfaceFlags(from string, complete cobra.CompletionFunc) []Flag {
	return []Flag{
		{Name: "interface", Short: "i", Group: GroupInput, To: &f.Conf.Interfaces, Complete: complete, Help: "capture from `IFACE`, any, " + from + "; may be repeated"},
		{Name: "capture", Group: GroupInput, To: NewParsed(&f.capture, captureAFPacket, "how", OneOf(captures...)), Words: captures, Help: "capture through AF_PACKET or AF_XDP: " + strings.Join(captures, ", ")},
		{Name: "take-interface", Group: GroupAdvanced, To: &f.takeInterface, Needs: []string{"capture=xdp"}, Help: "with --capture xdp: take packets that the host needs"},
	}
}

// Flags returns the flags of rings.
func (f *RingFlags) Flags() []Flag {
	c := &f.Conf
	c.Rings, c.Promiscuous = 1, true
	return []Flag{
		{Name: "ring-size", Group: GroupAdvanced, To: NewParsed(&c.RingBytes, show.Bytes(afpacket.DefaultRingBytes), "size", ParseMemory), Needs: []string{"interface"}, Help: "memory of each capture ring"},
		{Name: "rings", Group: GroupAdvanced, To: &c.Rings, Needs: []string{"interface"}, Not: []string{"capture=xdp: it has one ring for each receive queue: use ethtool -L IFACE combined N"}, Help: "`N` rings per interface, which share its packets"},
		{Name: "fanout", Group: GroupAdvanced, To: NewParsed(&f.fanout, fanouts[0], "how", OneOf(fanouts...)), Words: fanouts, Needs: []string{"interface"}, Help: "how rings share packets: by " + strings.Join(fanouts, ", ")},
		{Name: "block-timeout", Group: GroupAdvanced, To: NewParsed(&c.BlockTimeout, afpacket.DefaultBlockTimeout.String(), "duration", ParseDelay), Needs: []string{"interface"}, Help: "longest wait of a packet in a ring (1ms with --forward)"},
		{Name: "snaplen", Short: "s", Group: GroupInput, To: &c.SnapLen, Needs: []string{"interface"}, Help: "capture only `N` bytes of packets (0: all)"},
		{Name: "promiscuous", Group: GroupInput, To: &c.Promiscuous, Needs: []string{"interface"}, Help: "capture in promiscuous mode"},
		{Name: "ignore-outgoing", Group: GroupInput, To: &c.IgnoreOutgoing, Needs: []string{"interface"}, Help: "ignore packets that this host sends"},
		{Name: "hardware-time", Group: GroupAdvanced, To: &c.HardwareTime, Needs: []string{"interface"}, Help: "use timestamps of the network card, where it makes any"},
		{Name: "wait", Group: GroupInput, To: &c.Wait, Needs: []string{"interface"}, Help: "keep running while an interface is down, gone or not there"},
	}
}

// XDP returns how to capture through AF_XDP, nil if that was not asked for.
func (f *RingFlags) XDP() *xdp.Config {
	if f.capture != captureXDP {
		return nil
	}
	return &xdp.Config{Take: f.takeInterface}
}

// Check rejects settings that no ring supports.
func (f *RingFlags) Check() error {
	if f.Conf.Rings < 1 {
		return Usagef("--rings must be at least 1")
	}
	return nil
}

// RingConfig returns how to capture. forwarded says that packets are forwarded and should
// not wait.
func (f *RingFlags) RingConfig(cmd *cobra.Command, forwarded bool) afpacket.Config {
	c := f.Conf
	c.Fanout = afpacket.Fanout(slices.Index(fanouts, f.fanout))
	if forwarded {
		c.BlockBytes = forwardBlockBytes
		if !cmd.Flags().Changed("block-timeout") {
			c.BlockTimeout = forwardTimeout
		}
	}
	return c
}
