// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"math"

	"github.com/flowdedup/flowdedup/capture/keys"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/input"
	"github.com/flowdedup/flowdedup/engine/sizing"
	"github.com/flowdedup/flowdedup/engine/window"
)

// elementKind is the kind of elements: packets, or keys of packets.
type elementKind struct {
	Packets bool
	Key     keys.Kind // where it is not packets
}

// parseElementKind reads "packets" or a key of package keys.
func parseElementKind(s string) (elementKind, error) {
	if s == "packets" {
		return elementKind{Packets: true}, nil
	}
	key, err := keys.ParseKind(s)
	if err != nil {
		return elementKind{}, fmt.Errorf("must be packets, src, dst, ip, pair, flow, biflow or mac")
	}
	return elementKind{Key: key}, nil
}

// String returns the kind as parseElementKind reads it.
func (o elementKind) String() string {
	if o.Packets {
		return "packets"
	}
	return o.Key.String()
}

// perPacket returns how many elements a packet has.
func (o elementKind) perPacket() float64 {
	if !o.Packets && (o.Key == keys.IP || o.Key == keys.MACs) {
		return 2
	}
	return 1
}

// distinct says how many elements of a window differ: as a share of them, or as a number. In an
// unbounded stream it is the share of new elements.
type distinct struct {
	Share float64
	Count float64
}

// config is the request of the command line. 0 means not given.
type config struct {
	Element elementKind
	IPv6    bool

	Window   window.Window
	Kind     string      // "auto", or the name of a sizing.Kind
	kind     sizing.Kind // of the window, which check sets
	Rate     float64     // elements a second
	Link     float64     // bits a second
	Elements float64
	Distinct distinct
	Refresh  bool // a copy restarts the window, as with "dedup --refresh"

	MemoryBits int
	FPR, FNR   float64
	Curves     bool
	All        bool // show all methods

	From  []string
	Input input.Options
}

// wireBytes is the size of the shortest Ethernet frame on a link: 64 bytes, preamble,
// start delimiter and gap.
const wireBytes = 64 + 8 + 12

// rate returns the elements per second, 0 if unknown.
func (c *config) rate() float64 {
	if c.Rate == 0 {
		return c.Link / (wireBytes * 8) * c.Element.perPacket()
	}
	return c.Rate
}

// check sets the kind of window, and returns an error that wraps sizing.ErrQuestion if the window does
// not fit it.
func (c *config) check() (err error) {
	if length := c.Window; length.Landmark {
		length.Landmark = false
		return fmt.Errorf("%w: --window %s: packets take the memory of --window %s; for keys give that and --kind landmark",
			sizing.ErrQuestion, c.Window, length)
	}
	c.kind, err = c.windowKind()
	switch {
	case err != nil:
		return err
	case c.Refresh && (!c.Element.Packets || c.kind == sizing.Unbounded || c.kind == sizing.Landmark):
		return fmt.Errorf("%w: --refresh needs packets in a window that slides; all else renews its memory anyway", sizing.ErrQuestion)
	case c.Element.Packets && c.kind == sizing.Landmark:
		return fmt.Errorf("%w: --kind landmark is for keys: packets take the memory of a window that slides", sizing.ErrQuestion)
	case !c.Element.Packets && c.Window.Packets > 0, c.key() == sizing.IPv4 && c.kind == sizing.Unbounded:
		return fmt.Errorf("%w: --of %s needs a window of time, such as --window 1h", sizing.ErrQuestion, c.Element)
	}
	return nil
}

func (c *config) windowKind() (sizing.Kind, error) {
	timed := c.Window.Duration > 0
	switch {
	case c.Kind == "auto" && c.Window.None:
		return sizing.Unbounded, nil
	case c.Kind == "auto" && c.Window.Packets > 0:
		return sizing.Count, nil
	case c.Kind == "auto" && c.Element.Packets:
		return sizing.Sliding, nil
	case c.Kind == "auto", c.Kind == sizing.Landmark.String():
		return sizing.Landmark, nil
	case c.Kind == sizing.Sliding.String() && timed:
		return sizing.Sliding, nil
	case c.Kind == sizing.Unbounded.String() && c.Window.None:
		return sizing.Unbounded, nil
	}
	return 0, fmt.Errorf("%w: a window of kind %s and --window %s exclude each other: unbounded goes with none, sliding with a duration, landmark with both",
		sizing.ErrQuestion, c.Kind, c.Window)
}

// key returns the kind of key for package sizing.
func (c *config) key() sizing.Key {
	switch {
	case c.Element.Packets:
		return sizing.Packets
	case c.Element.Key <= keys.IP && !c.IPv6:
		return sizing.IPv4
	}
	return sizing.Other
}

// question makes the question for package sizing; m is nil if nothing was measured.
func (c *config) question(m *measurement) (q sizing.Question, err error) {
	q = sizing.Question{
		Kind: c.kind, Key: c.key(),
		MemoryBits: c.MemoryBits, FPR: c.FPR, FNR: c.FNR,
		Curves: c.Curves, Refresh: c.Refresh,
	}
	if q.Elements, err = c.elements(m); err != nil {
		return q, err
	}
	if m != nil {
		q.Distinct = m.DistinctShare
		q.Gaps = m.scaledGaps(q.Elements)
		if m.sample != nil && c.Distinct == (distinct{}) {
			q.Sample = m.sample.ScaledTo(q.Elements / m.WindowElements)
		}
		q.Length = float64(m.Elements) * q.Elements / m.WindowElements
	}
	switch {
	case c.Distinct.Share > 0 && (c.kind == sizing.Unbounded || c.Distinct.Share == 1):
		q.Distinct = c.Distinct.Share
	case c.Distinct.Share > 0:
		q.Different = c.Distinct.Share * q.Elements
	case c.Distinct.Count > 0 && q.Elements == 0:
		return q, fmt.Errorf("%w: a number of distinct elements means nothing in an unbounded stream; give --distinct as a share, such as 60%%", sizing.ErrQuestion)
	case c.Distinct.Count > q.Elements:
		return q, fmt.Errorf("%w: --distinct %.10g is more than the %.10g elements in the window", sizing.ErrQuestion, c.Distinct.Count, q.Elements)
	case c.Distinct.Count > 0:
		q.Different = c.Distinct.Count
	}
	return q, nil
}

// elements returns the number of elements in the window.
func (c *config) elements(m *measurement) (float64, error) {
	switch {
	case c.kind == sizing.Unbounded && c.Elements > 0 && m != nil:
		return 0, fmt.Errorf("%w: --elements, how far repeats lie back, is what --from measures: give one of them", sizing.ErrQuestion)
	case c.Window.Packets > 0:
		return float64(c.Window.Packets), nil
	case c.Elements > 0:
		return c.Elements, nil
	case c.Window.Duration > 0 && c.rate() > 0:
		return math.Max(1, c.rate()*c.Window.Duration.Seconds()), nil
	case m != nil:
		return m.WindowElements, nil
	case c.kind == sizing.Unbounded:
		return 0, nil
	case c.Window.None:
		return 0, fmt.Errorf("%w: a window over the whole input needs --elements or --from FILE", sizing.ErrQuestion)
	}
	return 0, fmt.Errorf("%w: a window of %s holds an unknown number of elements: give --rate, --link, --elements or --from FILE", sizing.ErrQuestion, c.Window)
}
