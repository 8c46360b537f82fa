package distinct

import (
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture/flow"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/input"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/distinct/multikey"
	"github.com/flowdedup/flowdedup/engine/secret"
)

// Config says what a run counts. Everything in it is checked by the caller.
type Config struct {
	Inputs []string
	Input  input.Options

	Keys  []flow.KeyConfig
	Inner bool

	// What follows is as in multikey.Config.
	Calendar      calendar.Calendar
	Slide, Window time.Duration
	Past          time.Duration
	Method        string
	Memory        int
	Budget        int
	FPR           float64
	Secret        secret.Secret

	Workers int // goroutines that share the work, at least 1; the counts do not depend on it

	// Rows is told the counts of each window when it closes.
	Rows func([]Row) error
	// FirstSeen is told each first sighting, unless it is nil: packet by packet in the order
	// of the stream, and those of one packet in the order of Keys.
	FirstSeen func(*Sighting) error
	// Flush is called after the rows and sightings of each batch, unless it is nil: whoever
	// gathers them may pass them on.
	Flush func() error
}

// counters describes the counters of a run.
func (c *Config) counters() *multikey.Config {
	keys := make([]multikey.Key, len(c.Keys))
	for i, k := range c.Keys {
		keys[i] = multikey.Key{Name: k.Kind.String(), MAC: k.Kind == flow.MACs, PerPacket: 1}
		if k.Kind == flow.IP || k.Kind == flow.MACs {
			keys[i].PerPacket = 2
		}
	}
	return &multikey.Config{
		Keys:     keys,
		Implies:  func(i, j int) bool { return c.Keys[i].Determines(c.Keys[j]) },
		Calendar: c.Calendar, Slide: c.Slide, Window: c.Window, Past: c.Past,
		Method: c.Method, Memory: c.Memory, Budget: c.Budget, FPR: c.FPR, Secret: c.Secret,
		FirstSeen: c.FirstSeen != nil,
		Emit: func(start, end int64, counts []multikey.Count) error {
			return c.Rows(rowsOf(start, end, c.zone(), counts))
		},
	}
}

func (c *Config) zone() *time.Location {
	if c.Calendar.Location == nil {
		return time.UTC
	}
	return c.Calendar.Location
}

// keyers makes what makes some of the keys.
func (c *Config) keyers(keys []int) *flow.Keyer {
	configs := make([]flow.KeyConfig, len(keys))
	for i, key := range keys {
		configs[i] = c.Keys[key]
	}
	return flow.NewKeyer(configs, flow.DecoderConfig{Inner: c.Inner})
}

// digesters holds a keyed digest for each family, so that no key of one family can equal
// one of another.
type digesters struct {
	v4, v6, mac *digest.AES
}

func newDigesters(s secret.Secret) digesters {
	return digesters{
		v4:  digest.NewAES(s.AESKey(secret.IPv4)),
		v6:  digest.NewAES(s.AESKey(secret.IPv6)),
		mac: digest.NewAES(s.AESKey(secret.MAC)),
	}
}
