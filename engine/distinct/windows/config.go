// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/distinct"
	"github.com/flowdedup/flowdedup/engine/distinct/top"
	"github.com/flowdedup/flowdedup/engine/stream"
)

// Config configures New. Its zero value counts nothing: it needs Keys. See Config.Check.
type Config struct {
	Keys []Key
	// Implies reports whether packets with equal elements of key i have equal elements of
	// key j. With nil no key implies another.
	Implies func(i, j int) bool

	// Calendar cuts time into windows. The zero value makes one window of the whole
	// stream.
	Calendar calendar.Calendar
	// Slide makes windows slide instead. Counts are emitted at each multiple of Slide,
	// over the Window before that, which has MaxSlides slides at most. Then Method is
	// auto, exact or sketch, and FirstSeen is false.
	Slide, Window time.Duration
	// Past is the span that Counter.Past counts over, in addition to the windows of the
	// calendar. 0 stands for none.
	Past time.Duration

	Method string // one of Methods; "" stands for auto
	// Memory is the initial size of each Bloom filter, or the bound of rows that forget
	// or slide, in bytes. 0 stands for the default.
	Memory int
	// Budget bounds the exact rows of all windows and of the past together, in bytes.
	// Where it is not enough, samples are counted. 0 stands for no bound.
	Budget int
	// SetLimit bounds the elements of one family that a window remembers. Beyond it a
	// sketch estimates their number. The limit is checked every 4096 packets, and at the
	// end of the window. 0 stands for no limit. With a limit, or with Save, counters
	// that find no more memory in Budget also turn into a sketch, in place of a sample.
	SetLimit uint64
	FPR      float64 // upper bound for Bloom filters and for rows that forget; 0 stands for engine.DefaultFPR
	Secret   engine.Secret

	// Top is how many elements with the most packets, or bytes as TopBy says, Count.Top has. 0 stands for
	// none. Slide excludes it.
	Top   int
	TopBy top.By
	// FirstSeen makes each Batch report the elements that their window had not seen
	// before.
	FirstSeen bool
	// Emit takes the counts of a closed window, in the order of Keys. The bounds are in
	// nanoseconds since 1970 UTC, without the end. For the whole stream they are the
	// times of the earliest and of the latest packet. Both are math.MinInt64 for packets
	// without a time. Emit must not keep the slice. nil stands for no such counts: Counter.Current returns the counts so far.
	Emit func(start, end int64, counts []Count) error
	// Total takes the counts of the whole stream at its end, including late packets and
	// packets without a time. It is called in addition to Emit. start and end are the
	// times of the earliest and of the latest packet. nil stands for no such counts.
	Total func(start, end int64, counts []Count) error
	// Changes makes Count.Changes available to Emit. Then Method is auto, exact or
	// sketch, and there are windows of a calendar.
	Changes bool
	// Save takes the contents of a closed window's counters, after Emit. It is called in
	// the background, for one window at a time; the next window that closes waits for it.
	// Then Method is auto or sketch, and there are windows of a calendar. nil stands for
	// nothing to save.
	Save func(start, end int64, all []SavedSeries) error
}

// SavedSeries is the contents of the counter of one family of a key. Contents are valid
// until Config.Save returns.
type SavedSeries struct {
	Key, Family string
	Packets     uint64
	distinct.Contents
}

// Key describes one key.
type Key struct {
	Name string // in counts, and in the labels of snapshots
	// MAC means that elements are hardware addresses. Other keys have elements of IPv4 or
	// IPv6.
	MAC bool
	// PerPacket bounds the elements of a packet: 1 or 2.
	PerPacket int
}

// The methods that a Counter has.
const (
	methodAuto  = "auto"
	methodBloom = "bloom"
	methodExact = "exact"
	methodLRU   = "lru"

	methodSketch = "sketch"
)

// errConfig begins errors about a Config.
var errConfig = engine.Impossible("impossible counts")

// Check returns an error if no Counter can have the configuration. It wraps
// engine.ErrConfig.
func (c *Config) Check() error {
	calendar, slides := c.Calendar.Every > 0, c.Slide > 0
	full := c.withDefaults()
	switch method := full.Method; {
	case !slices.Contains(Methods(), method):
		return fmt.Errorf("%w: method %q, must be one of %s", errConfig, method, strings.Join(Methods(), ", "))
	case !(full.FPR > 0 && full.FPR < 1):
		return fmt.Errorf("%w: %g", engine.ErrFPR, c.FPR)
	case slides && (method != methodAuto && method != methodExact && method != methodSketch || c.FirstSeen || c.Top > 0):
		return fmt.Errorf("%w: windows that slide have method auto, exact or sketch, and neither FirstSeen nor Top", errConfig)
	case slides && (c.Window < c.Slide || c.Window%c.Slide != 0 || c.Window/c.Slide > MaxSlides):
		return fmt.Errorf("%w: a window of %v must be 1 to %d slides of %v", errConfig, c.Window, MaxSlides, c.Slide)
	case c.Changes && (!calendar || slides || method != methodAuto && method != methodExact && method != methodSketch):
		return fmt.Errorf("%w: Changes are of windows of a calendar, with method auto, exact or sketch", errConfig)
	case c.Save != nil && (!calendar || slides || method != methodAuto && method != methodSketch):
		return fmt.Errorf("%w: Save is for windows of a calendar, with method auto or sketch", errConfig)
	}
	for _, key := range c.Keys {
		if key.PerPacket != 1 && key.PerPacket != 2 {
			return fmt.Errorf("%w: key %q has %d elements a packet, must be 1 or 2", errConfig, key.Name, key.PerPacket)
		}
	}
	return nil
}

// withDefaults returns the configuration with what zero values stand for.
func (c *Config) withDefaults() Config {
	d := *c
	if d.Method == "" {
		d.Method = methodAuto
	}
	if d.FPR == 0 {
		d.FPR = engine.DefaultFPR
	}
	return d
}

// Methods returns the values of Config.Method, the default first. "lru" remembers recent
// keys in a fixed amount of memory, and counts forgotten keys again. "sketch" remembers
// no key, and estimates their number in 16 KiB.
func Methods() []string {
	return []string{methodAuto, methodBloom, methodExact, methodLRU, methodSketch}
}

// MinBudgetFPR is the lowest rate that a Budget bounds: the rate of rows of digests. They keep
// it for up to 1.8e9 of them, which take 24 GB. Below it a Bloom filter counts, without a bound.
const MinBudgetFPR = 1e-10

// newDigests makes a counter of digests. If it can grow it starts with memory bytes, a
// Bloom filter with at least c.Memory.
func (c *Config) newDigests(memory int) (engine.Counter[digest.Digest], error) {
	switch {
	case c.Method == methodExact:
		return distinct.NewDigestMap(), nil
	case c.Method == methodSketch:
		return distinct.NewSketchedDigests(), nil
	case c.Method == methodLRU:
		return counterOf[digest.Digest](stream.NewCounter(stream.Config{Method: methodLRU, FPR: c.FPR, Memory: c.Memory}))
	case c.Method == methodAuto && c.FPR >= MinBudgetFPR:
		return counterOf[digest.Digest](distinct.NewDigestRows(memory))
	}
	return counterOf[digest.Digest](distinct.NewScalableBloom(distinct.ScalableBloomConfig{FPR: c.FPR, Memory: max(memory, c.Memory)}))
}

// counterOf returns c as an interface, or the error without a counter: a nil pointer in an
// interface is not nil.
func counterOf[K any, C engine.Counter[K]](c C, err error) (engine.Counter[K], error) {
	if err != nil {
		return nil, err
	}
	return c, nil
}

// newAddresses makes a counter of IPv4 addresses that starts with memory bytes.
func (c *Config) newAddresses(memory int) (engine.Counter[uint32], error) {
	switch c.Method {
	case methodExact:
		return distinct.NewIPv4Map(), nil
	case methodSketch:
		return c.newSketchedAddresses(), nil
	}
	return counterOf[uint32](distinct.NewIPv4Rows(c.Secret.AESKey(engine.UsePermutation), memory))
}

func (c *Config) newSketchedAddresses() *distinct.Sketched[uint32] {
	return distinct.NewSketchedIPv4(c.Secret.AESKey(engine.UsePermutation))
}
