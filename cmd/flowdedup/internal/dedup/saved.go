package dedup

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/flowdedup/flowdedup/capture/flow"
	"github.com/flowdedup/flowdedup/engine"
)

// ErrNoSnapshot is returned for a filter that cannot be saved.
var ErrNoSnapshot = errors.New("this method cannot be saved")

// SavedBooks are the counts of a run for another one to go on with.
type SavedBooks struct {
	Packets, Bytes                      uint64
	NonIP, Snapped, OutOfOrder, Untimed uint64
	First, Last                         int64
	Duplicates, Removed                 uint64 // packets and their bytes
	ByProtocol                          []uint64
	// Points are the places of packets, by the numbers that the filter knows them by.
	Points []flow.Point
}

// label names the elements of the filter in its snapshot.
func (c *Config) label() string { return "packets, " + c.Digest }

// Save writes the filter for ResumeJudging, and returns the books. It is not for the
// moment when a batch is judged. Errors are those of w, or ErrNoSnapshot.
func (j *Judging) Save(w io.Writer) (SavedBooks, error) {
	f, ok := j.filter.(interface {
		Snapshot(w io.Writer, secret engine.Secret, label string) error
	})
	if !ok {
		return SavedBooks{}, ErrNoSnapshot
	}
	t := &j.books.tally
	return SavedBooks{
		Packets: t.count, Bytes: t.bytes, NonIP: t.nonIP, Snapped: t.snapped, OutOfOrder: t.outOfOrder, Untimed: t.untimed,
		First: t.first, Last: t.last, Duplicates: j.books.Duplicates, Removed: j.books.removed,
		ByProtocol: slices.Clone(j.books.duplicates[:]), Points: j.where.List(),
	}, f.Snapshot(w, j.cfg.Secret, j.cfg.label())
}

// ResumeJudging goes on where Judging.Save left off. It reads nothing behind what that
// wrote. Errors are those of r and of the engine.
func ResumeJudging(cfg *Config, r io.Reader, saved *SavedBooks) (*Judging, error) {
	filter, err := cfg.restore(r)
	if err != nil {
		return nil, err
	}
	if len(saved.ByProtocol) != int(flow.Protocols) {
		return nil, errors.Join(fmt.Errorf("%w: %d protocols", engine.ErrSnapshot, len(saved.ByProtocol)), filter.Close())
	}
	cfg.prepareFilter(filter)
	b := newBooks()
	b.tally = tally{
		count: saved.Packets, bytes: saved.Bytes, nonIP: saved.NonIP, snapped: saved.Snapped,
		outOfOrder: saved.OutOfOrder, untimed: saved.Untimed, first: saved.First, last: saved.Last,
	}
	b.Duplicates, b.removed = saved.Duplicates, saved.Removed
	copy(b.duplicates[:], saved.ByProtocol)
	return &Judging{cfg: cfg, where: flow.NewPoints(saved.Points), filter: filter, books: b}, nil
}

// restore reads the filter that cfg asks for.
func (c *Config) restore(r io.Reader) (engine.PacketFilter, error) {
	if err := c.fits(); err != nil {
		return nil, err
	}
	restore := engine.RestoreConfig{Secret: c.Secret, Label: c.label(), Memory: math.MaxInt}
	switch {
	case c.Method == MethodTimers:
		return packetFilter(engine.RestoreTimers(r, restore))
	case engine.IsStreamMethod(c.Method):
		return packetFilter(engine.RestoreStreamPackets(r, restore))
	}
	return packetFilter(engine.RestoreTimed(r, restore))
}

// packetFilter keeps a nil pointer from becoming a filter that is not nil.
func packetFilter[F engine.PacketFilter](f F, err error) (engine.PacketFilter, error) {
	if err != nil {
		return nil, err
	}
	return f, nil
}
