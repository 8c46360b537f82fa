package distinct

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/flowdedup/flowdedup/asm"
	"github.com/flowdedup/flowdedup/engine"
)

// Saved is what is open of a run; its counters are elsewhere.
type Saved struct {
	Windows []SavedWindow
	Past    []SavedCounter
}

// SavedWindow is an open window for another run to go on with; its counters are
// elsewhere.
type SavedWindow struct {
	Start, End, Packets int64
	Counters            []SavedCounter // those that there are, key by key
}

// SavedCounter is a counter's place, and the packets it has counted.
type SavedCounter struct {
	Key     int // number in Config.Keys
	Family  string
	Packets uint64
}

// The families of counters, as snapshots name them.
const (
	familyAddr4 = "addr4"
	familyV4    = "v4"
	familyV6    = "v6"
	familyMAC   = "mac"
)

// ErrNoSnapshot is returned for counters that cannot be saved.
var ErrNoSnapshot = errors.New("counters of this method cannot be saved")

// Save writes the counters of all open windows but that of packets without a timestamp
// for Resume, and returns what belongs to them. It is not for the moment when a batch
// is counted. Errors are those of w, or ErrNoSnapshot.
func (c *Counting) Save(w io.Writer) (saved Saved, err error) {
	c.windows.Each(func(start, end, packets int64, content *window) {
		if start == math.MinInt64 || err != nil {
			return
		}
		s := SavedWindow{Start: start, End: end, Packets: packets}
		for i := range content.keys {
			if err == nil {
				err = c.saveKey(w, &s, i, &content.keys[i])
			}
		}
		saved.Windows = append(saved.Windows, s)
	})
	if c.past != nil && err == nil {
		saved.Past, err = c.past.save(c, w)
	}
	return saved, err
}

func (c *Counting) saveKey(w io.Writer, s *SavedWindow, key int, k *keyCounters) error {
	return errors.Join(
		save(c, w, s, key, familyAddr4, &k.addr4), save(c, w, s, key, familyV4, &k.v4),
		save(c, w, s, key, familyV6, &k.v6), save(c, w, s, key, familyMAC, &k.mac),
	)
}

// save writes a counter, if there is one.
func save[E any](c *Counting, w io.Writer, s *SavedWindow, key int, family string, counter *counted[E]) error {
	if counter.Counter == nil {
		return nil
	}
	one, ok := counter.Counter.(interface {
		Snapshot(w io.Writer, secret engine.Secret, label string) error
	})
	if !ok {
		return ErrNoSnapshot
	}
	s.Counters = append(s.Counters, SavedCounter{key, family, counter.packets})
	return one.Snapshot(w, c.cfg.Secret, c.label(key, family))
}

// label names the elements of a counter in its snapshot.
func (c *Counting) label(key int, family string) string {
	return c.cfg.Keys[key].Of.String() + ", " + family
}

// Resume opens the windows of another run, before the first packet. It reads nothing
// behind what Save wrote. Errors are those of r and of the engine.
func (c *Counting) Resume(r io.Reader, saved *Saved) error {
	for i := range saved.Windows {
		s := &saved.Windows[i]
		w := newWindow(s.Start, s.End, c.cfg)
		for _, counter := range s.Counters {
			if err := c.restore(r, w, counter); err != nil {
				return errors.Join(err, w.close())
			}
		}
		c.windows.Resume(s.Start, s.End, s.Packets, w)
	}
	if c.past == nil {
		return nil
	}
	return c.past.resume(c, r, saved.Past)
}

// restore reads a counter.
func (c *Counting) restore(r io.Reader, w *window, s SavedCounter) (err error) {
	if s.Key < 0 || s.Key >= len(w.keys) {
		return fmt.Errorf("%w: key %d", engine.ErrSnapshot, s.Key)
	}
	k := &w.keys[s.Key]
	cfg := engine.RestoreConfig{Secret: c.cfg.Secret, Label: c.label(s.Key, s.Family), Memory: math.MaxInt}
	switch s.Family {
	case familyAddr4:
		k.addr4, err = restored[uint32](engine.RestoreExactV4(r, cfg))(s.Packets)
	case familyV4:
		k.v4, err = restored[asm.Digest](engine.RestoreDigestRows(r, cfg))(s.Packets)
	case familyV6:
		k.v6, err = restored[asm.Digest](engine.RestoreDigestRows(r, cfg))(s.Packets)
	case familyMAC:
		k.mac, err = restored[asm.Digest](engine.RestoreDigestRows(r, cfg))(s.Packets)
	default:
		err = fmt.Errorf("%w: family %q", engine.ErrSnapshot, s.Family)
	}
	return err
}

// restored gives a counter its packets, unless it could not be read.
func restored[E any](c engine.Counter[E], err error) func(packets uint64) (counted[E], error) {
	return func(packets uint64) (counted[E], error) {
		if err != nil {
			return counted[E]{}, err
		}
		return counted[E]{Counter: c, packets: packets}, nil
	}
}
