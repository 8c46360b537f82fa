// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/flowdedup/flowdedup/bench/zipf"
)

// ErrConfig is wrapped by every error about a Config's values.
var ErrConfig = errors.New("workload: bad configuration")

// Format is the file format of a capture.
type Format uint8

// The formats that are written, both little-endian with nanosecond clocks.
const (
	Pcap Format = iota
	PcapNG
)

// Mixtures of frame sizes, as Config.Size.
const (
	// IMIX mixes frames of 64, 576 and 1514 bytes as 7 to 4 to 1, the "simple
	// IMIX" of network testers: 355 bytes on average.
	IMIX = 0
	// Bimodal has the usual traffic of links between networks, frames with little but
	// headers and full ones: of 20 frames 9 have 60 to 99 bytes, 9 have 1514, and 2 have
	// any size between. The average is 798 bytes.
	Bimodal = -1
)

// Limits of a Config.
const (
	minSize  = 60   // an Ethernet frame at its shortest, without its check sequence
	maxSize  = 1514 // and at its longest, untagged
	maxFlows = zipf.MaxRanks
	maxRate  = 100e6    // packets a second, so that few copies are under way at once
	maxZipf  = 4        // beyond it all traffic is one flow
	maxShare = 0.9      // of copies and repeats together
	maxTime  = 25 * 365 // days, so that times stay within 32-bit seconds
)

// Config is the configuration of a workload. The zero value is not valid; start from
// Default.
type Config struct {
	Packets int64  // records in the file, copies included
	Seed    uint64 // the same configuration and seed give the same bytes
	// Size is the captured length of each frame in bytes, without a check
	// sequence, or a mixture. IPv6 frames have at least 74 bytes, and tagged copies
	// four more than their originals.
	Size       int
	Duplicates float64       // share of the packets that are copies, 0 to 1
	Repeats    float64       // share that repeats an earlier frame seconds later and is no copy
	Window     time.Duration // copies follow within 0.9 of it, repeats after 10 times it
	IPv6       float64       // share of the flows
	Duration   time.Duration // from the first packet to the last, nearly
	Zipf       float64       // exponent of the flows' popularity; 0 makes all equal
	Flows      int           // different flows to choose from, at most maxFlows
	Format     Format
	Copies     io.Writer // gets a line for each copy and repeat, or nil
}

// Default returns a configuration of a million packets in two and a half
// hours, with one packet in ten a copy.
func Default() Config {
	return Config{
		Packets:    1_000_000,
		Seed:       1,
		Size:       IMIX,
		Duplicates: 0.10,
		Repeats:    0.01,
		Window:     time.Millisecond,
		IPv6:       0.2,
		Duration:   150 * time.Minute,
		Zipf:       1,
		Flows:      100_000,
	}
}

// Validate returns an error that wraps ErrConfig and names the first value
// that Generate cannot use, or nil.
func (c *Config) Validate() error {
	checks := []struct {
		ok   bool
		what string
	}{
		{c.Packets > 0, "packets must be positive"},
		{c.Size == IMIX || c.Size == Bimodal || c.Size >= minSize && c.Size <= maxSize,
			"size must be a mixture or 60 to 1514"},
		{c.Duplicates >= 0 && c.Repeats >= 0 && c.Duplicates+c.Repeats <= maxShare,
			"shares of copies and repeats must not be negative nor exceed 0.9 together"},
		{c.IPv6 >= 0 && c.IPv6 <= 1, "the share of IPv6 must be 0 to 1"},
		{c.Window >= 10*time.Microsecond && c.Window <= time.Minute, "window must be 10µs to 1m"},
		{c.Duration > 0 && c.Duration <= maxTime*24*time.Hour, "duration must be positive and at most 25 years"},
		{float64(c.Packets) <= c.Duration.Seconds()*maxRate, "more than 100 million packets a second"},
		{c.Zipf >= 0 && c.Zipf <= maxZipf, "the Zipf exponent must be 0 to 4"},
		{c.Flows > 0 && c.Flows <= maxFlows, "flows must be 1 to 16777216"},
		{c.Format == Pcap || c.Format == PcapNG, "unknown format"},
	}
	for _, check := range checks {
		if !check.ok {
			return fmt.Errorf("%w: %s", ErrConfig, check.what)
		}
	}
	return nil
}

const shortest, longer = minSize, 100 // the short frames of Bimodal are below

// nextSize draws a frame size.
func (g *generator) nextSize() uint16 {
	switch g.size {
	case IMIX:
		return g.imix()
	case Bimodal:
		return g.bimodal()
	}
	return uint16(g.size)
}

func (g *generator) imix() uint16 {
	switch part := g.below(12); {
	case part < 7:
		return 64
	case part < 11:
		return 576
	}
	return maxSize
}

func (g *generator) bimodal() uint16 {
	switch part := g.below(20); {
	case part < 9:
		return uint16(shortest + g.below(longer-shortest))
	case part < 11:
		return uint16(longer + g.below(maxSize-longer))
	}
	return maxSize
}
