package distinct

import (
	"time"

	"github.com/flowdedup/flowdedup/asm"
	"github.com/flowdedup/flowdedup/capture/flow"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/input"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// Config says what a run counts. Everything in it is checked by the caller.
type Config struct {
	Inputs []string
	Input  input.Options

	Keys  []flow.KeyConfig
	Inner bool

	// Calendar cuts time into windows. Its zero value counts over the whole
	// input.
	Calendar calendar.Calendar

	// Slide makes windows slide instead: a row is told at each multiple of it, over the
	// Window before that, which it divides into MaxSlides parts at most. The method is
	// auto or exact then, and there are no sightings.
	Slide, Window time.Duration
	// Past is the span that keys are counted over beside the windows of the calendar, for
	// Counting.Past; 0 for none.
	Past time.Duration

	// Method is one of Methods.
	Method string
	Memory int // bytes that each Bloom filter starts with, or that rows which forget or slide have at most; 0 for the default
	// Budget is what the exact rows of all windows and of the past take together at most, in
	// bytes; where that is not enough, samples are counted. 0 stands for no bound.
	Budget int
	FPR    float64
	Secret engine.Secret

	Workers int // goroutines that share the work, at least 1; the counts do not depend on it

	// Rows is told the counts of each window when it closes.
	Rows func([]Row) error
	// Sighting is told each first sighting, unless it is nil: packet by packet in the order
	// of the stream, and those of one packet in the order of Keys.
	Sighting func(*Sighting) error
	// Told is called after the rows and sightings of each batch, unless it is nil: whoever
	// gathers them may pass them on.
	Told func() error
}

const (
	methodAuto  = "auto"
	methodExact = "exact"
	methodRows  = "lru"
)

// rowsFPR is the lowest rate that rows of digests keep: up to 1.8e9 of them, which take
// 24 GB.
const rowsFPR = 1e-10

// Methods returns what a Config's Method may be, the default first. Those of rows
// remember recent keys in a fixed amount of memory, and count the others again.
func Methods() []string { return []string{methodAuto, "bloom", methodExact, methodRows} }

func (c *Config) whole() bool { return c.Calendar.Every <= 0 }

// newDigests makes a counter of keys that are digested, which starts with so much memory
// if it grows, and with c.Memory at least if it is a Bloom filter. A failed one is never returned as it is: as an
// interface, a nil pointer is not nil.
func (c *Config) newDigests(memory int) (engine.Counter[asm.Digest], error) {
	if c.Method == methodExact {
		return engine.NewSet(), nil
	}
	if c.Method == methodRows {
		s, err := engine.NewStreamCounter(engine.StreamConfig{Method: methodRows, FPR: c.FPR, Memory: c.Memory})
		if err != nil {
			return nil, err
		}
		return s, nil
	}
	if c.Method == methodAuto && c.FPR >= rowsFPR {
		r, err := engine.NewDigestRows(memory)
		if err != nil {
			return nil, err
		}
		return r, nil
	}
	l, err := engine.NewLandmark(engine.LandmarkConfig{FPR: c.FPR, Memory: max(memory, c.Memory)})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// newAddresses makes a counter of IPv4 addresses that starts with so much memory.
func (c *Config) newAddresses(memory int) (engine.Counter[uint32], error) {
	if c.Method == methodExact {
		return engine.NewSetV4(), nil
	}
	e, err := engine.NewExactV4(c.Secret.AESKey(engine.KeyBijection), memory)
	if err != nil {
		return nil, err
	}
	return e, nil
}

// digesters holds a keyed digest for each family, so that no key of one family
// can meet one of another.
type digesters struct {
	v4, v6, mac *asm.AES
}

func newDigesters(s engine.Secret) digesters {
	return digesters{
		v4:  asm.NewAES(s.AESKey(engine.KeyIPv4)),
		v6:  asm.NewAES(s.AESKey(engine.KeyIPv6)),
		mac: asm.NewAES(s.AESKey(engine.KeyMAC)),
	}
}
