package cli

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/capture/ring"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
)

// ringFlags say where and how to capture.
type ringFlags struct {
	conf   ring.Config
	fanout string
}

// fanouts are the names of ring.Fanout.
var fanouts = []string{"hash", "cpu", "queue"}

// What rings take with --forward, for a delay of a millisecond or two.
const (
	forwardTimeout    = time.Millisecond
	forwardBlockBytes = 64 << 10
)

func (f *ringFlags) registerInterfaces(fs *pflag.FlagSet) {
	fs.StringArrayVarP(&f.conf.Interfaces, "interface", "i", nil, "capture from `IFACE`, or any; may be repeated")
	groupInput.add(fs, "interface")
}

func (f *ringFlags) register(fs *pflag.FlagSet) {
	c := &f.conf
	c.RingBytes, c.BlockTimeout = ring.DefaultRingBytes, ring.DefaultBlockTimeout
	fs.Var(newParsed(&c.RingBytes, show.Bytes(ring.DefaultRingBytes), "size", parseMemory), "ring-size", "memory of each capture ring")
	fs.IntVar(&c.Rings, "rings", 1, "`N` rings per interface, which share its packets")
	f.fanout = fanouts[0]
	fs.Var(newParsed(&f.fanout, f.fanout, "how", oneOf(fanouts...)), "fanout", "how rings share packets: by "+strings.Join(fanouts, ", "))
	fs.Var(newParsed(&c.BlockTimeout, c.BlockTimeout.String(), "duration", parseDelay), "block-timeout", "longest wait of a packet in a ring (with --forward 1ms)")
	fs.IntVarP(&c.SnapLen, "snaplen", "s", 0, "capture only `N` bytes of packets (0: all)")
	fs.BoolVar(&c.Promiscuous, "promiscuous", true, "promiscuous mode")
	fs.BoolVar(&c.IgnoreOutgoing, "ignore-outgoing", false, "ignore packets that this host sends")
	fs.BoolVar(&c.HardwareTime, "hardware-time", false, "use timestamps of the network card, where it makes any")
	fs.BoolVar(&c.Wait, "wait", false, "keep running while an interface is down or gone")
	groupInput.add(fs, "snaplen", "promiscuous", "ignore-outgoing", "wait")
	groupAdvanced.add(fs, "ring-size", "rings", "fanout", "block-timeout", "hardware-time")
}

func (f *ringFlags) check() error {
	switch {
	case slices.Contains(f.conf.Interfaces, ""):
		return &usageError{errors.New("an interface's name is empty")}
	case f.conf.Rings < 1:
		return &usageError{errors.New("--rings must be at least 1")}
	}
	return nil
}

// ringConfig returns how to capture; forwarded says that packets are waited for.
func (f *ringFlags) ringConfig(cmd *cobra.Command, forwarded bool) ring.Config {
	c := f.conf
	c.Fanout = ring.Fanout(slices.Index(fanouts, f.fanout))
	if forwarded {
		c.BlockBytes = forwardBlockBytes
		if !cmd.Flags().Changed("block-timeout") {
			c.BlockTimeout = forwardTimeout
		}
	}
	return c
}
