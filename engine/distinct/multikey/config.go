package multikey

import (
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/distinct"
	"github.com/flowdedup/flowdedup/engine/secret"
	"github.com/flowdedup/flowdedup/engine/stream"
)

// Config says what a Counter counts. The caller has checked all of it.
type Config struct {
	Keys []Key
	// Implies reports whether packets with the same element of key i have the same one of
	// key j. With nil no key implies another.
	Implies func(i, j int) bool

	// Calendar cuts time into windows. Its zero value makes one window of the whole
	// stream.
	Calendar calendar.Calendar
	// Slide makes windows slide instead: counts are emitted at each multiple of it, over
	// the Window before that, which holds MaxSlides slides at most. The method is auto or
	// exact then, and there are no first sightings.
	Slide, Window time.Duration
	// Past is the span that Counter.Past counts over, beside the windows of the calendar;
	// 0 for none.
	Past time.Duration

	Method string // one of Methods
	// Memory is what each Bloom filter starts with, or what rows that forget or slide have
	// at most, in bytes; 0 for the default.
	Memory int
	// Budget is what the exact rows of all windows and of the past have together at most,
	// in bytes. Where that is not enough, samples are counted. 0 stands for no bound.
	Budget int
	FPR    float64 // of Bloom filters and of rows that forget, at most
	Secret secret.Secret

	// FirstSeen has each Batch tell the elements that their window had not seen before.
	FirstSeen bool
	// Emit takes the counts of a window that closed, in the order of Keys. The bounds are
	// in nanoseconds since 1970 UTC, the end excluded. Over the whole stream they are the
	// times of the earliest and of the latest packet. Both are math.MinInt64 for packets
	// without a time.
	Emit func(start, end int64, counts []Count) error
}

// Key describes one key.
type Key struct {
	Name string // in counts, and in the labels of snapshots
	// MAC says that elements are hardware addresses. Those of other keys are of IPv4 or
	// of IPv6.
	MAC bool
	// PerPacket is how many elements a packet has at most: 1 or 2.
	PerPacket int
}

// The methods that a Counter has.
const (
	methodAuto  = "auto"
	methodBloom = "bloom"
	methodExact = "exact"
	methodLRU   = "lru"
)

// Methods returns what Config.Method may be, the default first. "lru" remembers recent
// keys in a fixed amount of memory, and counts those again that it forgot.
func Methods() []string { return []string{methodAuto, methodBloom, methodExact, methodLRU} }

// digestRowsFPR is the lowest rate that rows of digests keep: for up to 1.8e9 of them,
// which take 24 GB.
const digestRowsFPR = 1e-10

func (c *Config) whole() bool { return c.Calendar.Every <= 0 }

// newDigests makes a counter of digests. It starts with the given number of bytes if it
// can grow, and a Bloom filter with c.Memory at least. A nil pointer is no nil interface,
// so none is returned as one.
func (c *Config) newDigests(memory int) (engine.Counter[digest.Digest], error) {
	switch {
	case c.Method == methodExact:
		return distinct.NewDigestMap(), nil
	case c.Method == methodLRU:
		s, err := stream.NewCounter(stream.Config{Method: methodLRU, FPR: c.FPR, Memory: c.Memory})
		if err != nil {
			return nil, err
		}
		return s, nil
	case c.Method == methodAuto && c.FPR >= digestRowsFPR:
		r, err := distinct.NewDigestRows(memory)
		if err != nil {
			return nil, err
		}
		return r, nil
	}
	l, err := distinct.NewScalableBloom(distinct.ScalableBloomConfig{FPR: c.FPR, Memory: max(memory, c.Memory)})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// newAddresses makes a counter of IPv4 addresses that starts with so many bytes.
func (c *Config) newAddresses(memory int) (engine.Counter[uint32], error) {
	if c.Method == methodExact {
		return distinct.NewRoaringIPv4(), nil
	}
	e, err := distinct.NewIPv4Rows(c.Secret.AESKey(secret.Permutation), memory)
	if err != nil {
		return nil, err
	}
	return e, nil
}
