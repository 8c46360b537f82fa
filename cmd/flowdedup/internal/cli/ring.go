// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/capture/ring"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
)

// RingFlags define where and how packets are captured.
type RingFlags struct {
	Conf          ring.Config
	fanout        string
	capture       string // one of captures
	takeInterface bool
}

// captures are the ways to capture.
const (
	captureAFPacket = "afpacket"
	captureXDP      = "xdp"
)

var captures = []string{captureAFPacket, captureXDP}

// Fanouts are the names of ring.Fanout.
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
	fs.Var(NewParsed(&f.capture, f.capture, "how", OneOf(captures...)), "capture", "capture through AF_PACKET or AF_XDP: "+strings.Join(captures, ", "))
	fs.BoolVar(&f.takeInterface, "take-interface", false, "with --capture xdp: take packets that the host needs")
	GroupInput.Add(fs, "interface", "capture")
	GroupAdvanced.Add(fs, "take-interface")
}

func (f *RingFlags) Register(fs *pflag.FlagSet) {
	c := &f.Conf
	c.RingBytes, c.BlockTimeout = ring.DefaultRingBytes, ring.DefaultBlockTimeout
	fs.Var(NewParsed(&c.RingBytes, show.Bytes(ring.DefaultRingBytes), "size", ParseMemory), "ring-size", "memory of each capture ring")
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
func (f *RingFlags) RingConfig(cmd *cobra.Command, forwarded bool) ring.Config {
	c := f.Conf
	c.Fanout = ring.Fanout(slices.Index(Fanouts, f.fanout))
	if forwarded {
		c.BlockBytes = forwardBlockBytes
		if !cmd.Flags().Changed("block-timeout") {
			c.BlockTimeout = forwardTimeout
		}
	}
	return c
}

// registerTcpdump adds the flags of tcpdump that have units of their own. Each is another
// name of one of our flags. -c, -i, -s, -w and -Z are plain short names.
func (f *liveFlags) registerTcpdump(fs *pflag.FlagSet) {
	fs.VarP(NewParsed(&f.rotate.size, "", "MB", parseMegabytes), "rotate-megabytes", "C", "--rotate-size in 10^6 bytes (or 1k, 1m, 1g)")
	fs.VarP(NewParsed(&f.rotate.every, "", "seconds", parseSeconds), "rotate-seconds", "G", "--rotate-every in seconds")
	fs.VarP(NewParsed(&f.rotate.keep, "", "N", parseCount), "rotate-files", "W", "--rotate-keep, with -C")
	fs.VarP(NewParsed(&f.Conf.RingBytes, "", "KiB", parseKibibytes), "buffer-size", "B", "--ring-size in KiB")
	fs.BoolVarP(&f.notPromiscuous, "no-promiscuous-mode", "p", false, "same as --promiscuous=false")
	GroupInput.Add(fs, "no-promiscuous-mode")
	GroupOutput.Add(fs, "rotate-megabytes", "rotate-seconds", "rotate-files")
	GroupAdvanced.Add(fs, "buffer-size")
}

// sameFlags are pairs of flags for one setting, which exclude each other.
var sameFlags = []struct{ short, tcpdump, ours string }{
	{"-C", "rotate-megabytes", "rotate-size"},
	{"-G", "rotate-seconds", "rotate-every"},
	{"-W", "rotate-files", "rotate-keep"},
	{"-B", "buffer-size", "ring-size"},
	{"-p", "no-promiscuous-mode", "promiscuous"},
}

// checkTcpdump rejects two values for one setting. It rejects -W where tcpdump does
// something else: with -G it ends the capture, or has no effect.
func (f *liveFlags) checkTcpdump(fs *pflag.FlagSet) error {
	for _, s := range sameFlags {
		if fs.Changed(s.tcpdump) && fs.Changed(s.ours) {
			return &usageError{fmt.Errorf("%s and --%s exclude each other", s.short, s.ours)}
		}
	}
	if fs.Changed("rotate-files") && (f.rotate.size == 0 || f.rotate.every > 0) {
		return &usageError{errors.New("-W needs -C and excludes -G: use --rotate-keep N to keep the newest N files, --duration to end a run")}
	}
	return nil
}

// parseMegabytes reads a size as -C of tcpdump does.
func parseMegabytes(s string) (int64, error) {
	digits, unit := s, int64(1e6)
	for ending, value := range map[string]int64{"k": 1 << 10, "m": 1 << 20, "g": 1 << 30} {
		if rest, found := strings.CutSuffix(strings.ToLower(s), ending); found {
			digits, unit = rest, value
		}
	}
	n, err := strconv.ParseUint(digits, 10, 31)
	if err != nil || n == 0 {
		return 0, errors.New("must be a positive number of millions of bytes, or end with k, m or g")
	}
	return int64(n) * unit, nil
}

func parseSeconds(s string) (time.Duration, error) {
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil || n == 0 {
		return 0, errors.New("must be a positive number of seconds")
	}
	return time.Duration(n) * time.Second, nil
}

func parseCount(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil || n == 0 {
		return 0, errors.New("must be a positive number")
	}
	return int(n), nil
}

func parseKibibytes(s string) (int, error) {
	if _, err := parseCount(s); err != nil {
		return 0, errors.New("must be a positive number of KiB")
	}
	return ParseMemory(s + "KiB")
}
