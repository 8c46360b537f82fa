// SPDX-License-Identifier: Apache-2.0

// Package flowdedup removes duplicate packets from captures, finds repeated byte strings, and
// counts distinct addresses and flows by the hour. It has the usual calls of the library.
//
//	stats, err := flowdedup.Dedup(ctx, out, in, flowdedup.Window(5*time.Millisecond))
//
// It wraps packages that have all choices, and adds none of its own:
//
//	question                         here         package
//	which packets are copies?        Dedup        capture/dedup
//	from where do packets come?      Source       capture/pcapfile, capture/afpacket, capture/gopackets
//	did this byte string come?       Seen         engine/window, engine/stream
//	how many addresses in an hour?   Distinct     engine/distinct/windows, capture/keys
//
// Errors about settings that are impossible wrap ErrConfig. Errors about a damaged capture are a
// *capture.InputError.
package flowdedup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/hold"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/keys"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/capture/pipeline"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/distinct/windows"
	"github.com/flowdedup/flowdedup/engine/stream"
	"github.com/flowdedup/flowdedup/engine/window"
)

// ErrConfig is wrapped by every error about an impossible setting, here and in the packages
// below capture and engine whose settings this package takes.
var ErrConfig = engine.ErrConfig

// Option changes a setting of Dedup. A function of a program's own reaches all settings.
type Option func(*dedup.Config)

// Window sets the largest distance between a copy and its original. Without it Dedup takes
// window.Default: copies of a switch, a tap or a router arrive within that.
func Window(d time.Duration) Option {
	return func(c *dedup.Config) { c.Window = window.Window{Duration: d} }
}

// Across leaves packets that come again at the same interface: only packets that two interfaces saw
// are copies. Repeats that a sender means then stay, so a long Window is safe.
func Across() Option { return func(c *dedup.Config) { c.Across = true } }

// Inner compares the packets within tunnels (GRE, ERSPAN, VXLAN, GENEVE, GTP-U, IP in IP), as
// mirrors send them.
func Inner() Option { return func(c *dedup.Config) { c.Identity.Kind = identity.Inner } }

// Dedup reads a capture from src (pcap or pcapng, also compressed) and writes it to dst without
// its copies, as "flowdedup dedup" does. A copy is an IP datagram that equals a written datagram
// within the window, whatever routers change on the way. Packets of a conversation come from the
// interface that saw its first packet, if that saw them. Verdicts do not depend on the number of CPUs.
//
// The statistics hold for what was read, with an error, too. If src is damaged, dst gets what was read
// before, and the error is a *capture.InputError. Dedup closes neither src nor dst. If ctx ends, a call
// of src.Read may still be in progress when Dedup returns.
func Dedup(ctx context.Context, dst io.Writer, src io.Reader, opts ...Option) (stats dedup.Stats, err error) {
	cfg := dedup.Config{Hold: hold.Config{Flow: true}}
	for _, set := range opts {
		set(&cfg)
	}
	detector, err := dedup.New(cfg)
	if err != nil {
		return stats, err
	}
	defer func() { err = errors.Join(err, detector.Close()) }()
	packets, err := pcapfile.NewReader(src, "capture", pcapfile.Options{})
	if err != nil {
		return stats, err
	}
	all := pipeline.New(packets)
	defer func() { err = errors.Join(err, all.Close()) }()
	w := pcapfile.NewWriter(dst, pcapfile.WriterOptions{})
	err = errors.Join(all.Run(ctx, runtime.GOMAXPROCS(0), detector.Tasks(w)), w.Close())
	return detector.Stats(), err
}

// SeenConfig configures NewSeen. The zero value remembers for ever, in 256 MiB.
type SeenConfig struct {
	// Window is how far, in time, a repeat may lie from the item that it repeats, before or
	// after. An item is remembered from its first time on: a repeat does not renew it. 0 is
	// for ever: then a repeat does renew its item, and where Memory is full, the item that was
	// not seen for longest is forgotten.
	Window time.Duration
	// Memory bounds the memory of the items, in bytes. A window takes as much of it as its
	// items need, up to 32 bytes an item, and 0 stands for an eighth of the system's memory.
	// Without a window all of it is taken, 8 bytes an item, and 0 stands for 256 MiB.
	Memory int
	// FPR bounds the probability that a new item is taken for a repeat; 0 stands for 1e-9.
	FPR float64
	// Secret keys the digests, so that nobody can make items that collide. The zero value stands for
	// a random secret.
	Secret engine.Secret
}

// Seen reports which byte strings came before, in bounded memory. It keeps 40 to 64 bits of a
// keyed digest of each, not the bytes. It is not safe for concurrent use.
type Seen struct {
	filter  engine.PacketFilter
	digest  *digest.AES
	single  [1][]byte
	at      [1]time.Time
	verdict [1]bool

	// A part of a batch, of at most seenPart items.
	text     []byte
	messages []digest.Message
	times    []int64
	digests  [seenPart]digest.Digest
	seen     [seenPart / 64]uint64
}

const (
	seenPart = 512       // items that are digested at a time
	seenText = 256 << 10 // bytes of them from which on a part ends
)

// NewSeen makes an empty filter. Errors wrap ErrConfig, or come from the system's memory or its
// random numbers.
func NewSeen(cfg SeenConfig) (*Seen, error) {
	key, err := cfg.Secret, error(nil)
	if key == (engine.Secret{}) {
		key, err = engine.RandomSecret()
	}
	if err != nil {
		return nil, err
	}
	s := &Seen{digest: digest.NewAES(key.AESKey(engine.UseOwn))}
	if cfg.Window == 0 {
		s.filter, err = stream.NewPackets(stream.Config{Memory: cfg.Memory, FPR: cfg.FPR})
	} else {
		w := window.TimedConfig{Window: window.Window{Duration: cfg.Window}, FPR: cfg.FPR}
		if cfg.Memory != 0 {
			w.Memory, w.Limit = min(cfg.Memory, window.DefaultTimedMemory(w.Window, 0)), cfg.Memory
		}
		s.filter, err = window.NewTimed(w)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// TestAndSet reports whether item came before, within the window of t, and remembers it. See
// AppendSeen for t, and for many items, which it takes in less time each.
func (s *Seen) TestAndSet(item []byte, t time.Time) bool {
	s.single[0], s.at[0] = item, t
	seen := s.AppendSeen(s.verdict[:0], s.single[:], s.at[:])[0]
	s.single[0] = nil
	return seen
}

// AppendSeen appends to dst, for each item in their order, whether it came before, and remembers
// the items. Items of the same call may repeat each other. times has the time of each item, and is
// not read, so may be nil, without a window. An item whose time is outside the years 1678 to
// 2261, such as the zero Time, is neither a repeat nor remembered within a window. Beyond dst
// AppendSeen allocates nothing once it has had items as large. It panics if times is too
// short for a window, or an item has 4 GiB or more.
func (s *Seen) AppendSeen(dst []bool, items [][]byte, times []time.Time) []bool {
	_, endless := s.filter.(*stream.Packets)
	for i := 0; i < len(items); {
		s.text, s.messages, s.times = s.text[:0], s.messages[:0], s.times[:0]
		for ; i < len(items) && len(s.messages) < seenPart && len(s.text) < seenText; i++ {
			if uint64(len(items[i]))+seenText > math.MaxUint32 {
				panic("flowdedup: an item of 4 GiB")
			}
			s.messages = append(s.messages, digest.Message{Off: uint32(len(s.text)), Len: uint32(len(items[i]))})
			s.text = append(s.text, items[i]...)
			if !endless {
				s.times = append(s.times, nanoseconds(times[i]))
			}
		}
		n := len(s.messages)
		s.digest.SumMessages(s.digests[:n], s.text, s.messages)
		s.filter.TestAndSet(s.seen[:], s.digests[:n], s.times, nil)
		for j := range n {
			dst = append(dst, s.seen[j/64]>>(j%64)&1 != 0)
		}
	}
	return dst
}

// nanoseconds returns t as filters take it.
func nanoseconds(t time.Time) int64 {
	if year := t.UTC().Year(); year < 1678 || year > 2261 {
		return capture.NoTime
	}
	return t.UnixNano()
}

// Stats describes the filter: its memory in bytes, and how many items were forgotten too early.
func (s *Seen) Stats() engine.PacketStats { return s.filter.Stats() }

// Close gives the memory back. Only Stats may be called afterwards.
func (s *Seen) Close() error { return s.filter.Close() }

// DistinctConfig configures Distinct. The zero value counts the source addresses of the whole
// stream.
type DistinctConfig struct {
	// Of says what is counted: addresses, pairs, flows, stations. nil stands for keys.Src.
	Of []keys.Config
	// Every is the length of windows: time.Hour for full hours, 24*time.Hour for days from
	// midnight. 0 stands for one window.
	Every time.Duration
	// Location is the time zone of windows; nil stands for UTC.
	Location *time.Location
	// Memory bounds the memory, in bytes, beyond which counts are estimated from a sample. 0
	// stands for no bound: all counts are exact, but for one address or flow in 1e10.
	Memory int
}

// Count is the result of one window for one key and family.
type Count struct {
	// Start and End are the window's bounds, without End. Without windows they are the
	// times of the earliest and the latest packet. Both are zero for packets without a time.
	Start, End time.Time
	windows.Count
}

// Distinct counts what is distinct in the packets of src, window by window, as "flowdedup
// distinct" does. It calls emit for each window that has packets, for each key of cfg.Of, and for
// IPv4 ("ipv4"), IPv6 ("ipv6") and both ("all"). Packets may be out of order: a window is reported
// when a million packets have come since its last one, at the latest when the source ends.
//
// Distinct returns the first error of ctx, src or emit, and nil at the end of the source. After an
// error of src it has reported what it read before. It does not close src.
func Distinct(ctx context.Context, src capture.Source, cfg DistinctConfig, emit func(Count) error) error {
	if cfg.Of == nil {
		cfg.Of = []keys.Config{{Kind: keys.Src}}
	}
	counter, err := newCounter(&cfg, emit)
	if err != nil {
		return err
	}
	var b capture.Batch
	for {
		switch err := src.Next(&b); {
		case errors.Is(err, io.EOF):
			return counter.Close()
		case err != nil:
			return errors.Join(err, counter.Close())
		}
		if ctx.Err() != nil || counter.count(&b) != nil {
			return cmp.Or(counter.Abandon(), ctx.Err()) // the first failure, which count has seen
		}
	}
}

// counter counts the keys of packets.
type counter struct {
	*windows.Counter
	keyer   *keys.Keyer
	batch   *windows.Batch
	digests [3]*digest.AES // of keys of 16 bytes, of 48, and of hardware addresses
	times   []int64
}

// newCounter makes a counter of valid settings.
func newCounter(cfg *DistinctConfig, emit func(Count) error) (*counter, error) {
	key, err := engine.RandomSecret()
	if err != nil {
		return nil, err
	}
	w := windows.Config{
		Calendar: calendar.Calendar{Every: cfg.Every, Location: cfg.Location}, Secret: key, Budget: cfg.Memory,
		Emit: func(start, end int64, counts []windows.Count) error {
			for _, c := range counts {
				if err := emit(Count{timeOf(start, cfg.Location), timeOf(end, cfg.Location), c}); err != nil {
					return err
				}
			}
			return nil
		},
	}
	for _, k := range cfg.Of {
		if err := k.Validate(); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrConfig, err)
		}
		of := windows.Key{Name: k.Kind.String(), MAC: k.Kind == keys.MACs, PerPacket: 1}
		if k.Kind == keys.IP || k.Kind == keys.MACs {
			of.PerPacket = 2
		}
		w.Keys = append(w.Keys, of)
	}
	if least := w.LeastBudget(); cfg.Every < 0 || cfg.Memory != 0 && cfg.Memory < least {
		return nil, fmt.Errorf("%w: Every is %v, at least 0; Memory is %d, 0 or at least %d", ErrConfig, cfg.Every, cfg.Memory, least)
	}
	if err := w.Check(); err != nil {
		return nil, err
	}
	c := &counter{Counter: windows.New(&w), keyer: keys.NewKeyer(cfg.Of, headers.DecoderConfig{})}
	c.batch = c.NewBatch()
	for i, use := range []engine.Use{engine.UseIPv4, engine.UseIPv6, engine.UseMAC} {
		c.digests[i] = digest.NewAES(key.AESKey(use))
	}
	return c, nil
}

// count counts the packets of the next batch.
func (c *counter) count(b *capture.Batch) error {
	c.times = c.times[:0]
	for i := range b.Frames {
		c.times = append(c.times, calendar.Usable(b.Frames[i].Time))
	}
	c.batch.Reset(c.times)
	for from, to := range b.Groups() {
		for i, made := range c.keyer.FromFrames(b, from, to-from) {
			to := c.batch.Elements(i)
			copy(to.Addr4.Add(made.V4Frame[:len(made.Addr4)], from), made.Addr4)
			c.digests[0].Sum16(to.V4.Add(made.V4Frame[:len(made.V4)], from), made.V4)
			c.digests[1].Sum48(to.V6.Add(made.V6Frame, from), made.V6)
			c.digests[2].Sum16(to.MAC.Add(made.MACFrame, from), made.MAC)
		}
	}
	return c.Count(c.batch, nil)
}

// timeOf returns the time of nanoseconds in a time zone, UTC for nil.
func timeOf(ns int64, zone *time.Location) time.Time {
	if ns == calendar.NoTime {
		return time.Time{}
	}
	if zone == nil {
		zone = time.UTC
	}
	return time.Unix(0, ns).In(zone)
}
