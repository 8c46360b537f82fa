package distinct

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flowdedup/flowdedup/asm"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/flow"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/input"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/stamp"
	"github.com/flowdedup/flowdedup/engine"
)

const (
	// step is how many packets are decoded at a time: their headers stay in
	// the first-level cache.
	step = 512
	// maxElements of a step: keys of either end give two a packet.
	maxElements = 2 * step
	// memoryCheck is the number of packets between two looks at the memory of
	// open windows, and memoryLimit what windows other than the current one
	// may hold then.
	memoryCheck = 1 << 16
	memoryLimit = 1 << 30
)

// Result is what a run leaves beside its rows.
type Result struct {
	Packets uint64
	Late    uint64 // packets whose window had closed: not counted
	Damaged bool
}

// Run counts. The result is valid, and rows were told for everything read,
// whatever the error is: the context's, or one that holds a
// *capture.InputError for each input that is damaged or cannot be opened, or
// that of telling rows.
func Run(ctx context.Context, cfg Config) (Result, error) {
	in, err := input.Open(ctx, cfg.Inputs, cfg.Input)
	if err != nil {
		return Result{}, err
	}
	defer in.Close()
	r := newRunner(&cfg)
	err = in.Each(ctx, r.batch)
	r.windows.Close()
	result := Result{Packets: r.packets, Late: r.windows.Late(), Damaged: in.Damaged(err)}
	var failed *OutputError
	if r.err != nil && !errors.As(err, &failed) { // it came with the last windows
		err = errors.Join(err, &OutputError{r.err})
	}
	return result, errors.Join(append(in.Failed(), err)...)
}

// OutputError is a failure to count or to tell counts. It ends a run: rows may
// be missing.
type OutputError struct{ Err error }

func (e *OutputError) Error() string { return e.Err.Error() }
func (e *OutputError) Unwrap() error { return e.Err }

// runner is the state of one run between batches.
type runner struct {
	cfg     *Config
	loc     *time.Location
	decoder *flow.Decoder
	keyers  []*flow.Keyer
	digest  digesters
	windows *engine.Windows[window]
	packets uint64
	err     error // the first failure to count or to tell; it ends the run

	headers [step]flow.Header
	times   [step]int64
	digests [maxElements]asm.Digest
	seen    [maxElements / 64]uint64
}

func newRunner(cfg *Config) *runner {
	r := &runner{
		cfg:     cfg,
		loc:     cfg.Calendar.Location,
		decoder: flow.NewDecoder(flow.Config{Inner: cfg.Inner}),
		digest:  newDigesters(cfg.Secret),
	}
	if r.loc == nil {
		r.loc = time.UTC
	}
	for _, key := range cfg.Keys {
		r.keyers = append(r.keyers, flow.NewKeyer(key))
	}
	r.windows = engine.NewWindows(engine.WindowsConfig[window]{
		Calendar: cfg.Calendar,
		Open:     func(start, end int64) *window { return newWindow(start, end, cfg) },
		Close:    r.closeWindow,
	})
	return r
}

// closeWindow tells a window's counts, unless something failed before.
func (r *runner) closeWindow(_, _ int64, w *window) {
	if r.err == nil {
		r.err = r.cfg.Rows(w.rows(r.cfg, r.loc))
	}
	if err := w.close(); r.err == nil {
		r.err = err
	}
}

// batch counts the packets of a batch.
func (r *runner) batch(b *capture.Batch) error {
	for from := 0; from < len(b.Frames) && r.err == nil; from += step {
		r.step(b, from, min(step, len(b.Frames)-from))
	}
	if r.err != nil {
		return &OutputError{r.err}
	}
	return nil
}

// step decodes n packets and counts them, window by window.
func (r *runner) step(b *capture.Batch, from, n int) {
	r.decoder.Decode(r.headers[:n], b, from)
	for i := range n {
		r.times[i] = stamp.Usable(b.Frames[from+i].Time)
	}
	for at := 0; at < n && r.err == nil; {
		run, w := r.windows.Run(r.times[at:n])
		if w != nil && r.err == nil {
			w.times(r.times[at : at+run])
			r.err = r.count(w, b, from+at, r.headers[at:at+run])
		}
		at += run
		r.packets += uint64(run)
		// Runs end at all multiples of a power of two that divides
		// memoryCheck, so this does not depend on batches.
		if r.packets%memoryCheck == 0 {
			r.shed(w)
		}
	}
}

// shed closes windows early where many large ones are open beside the current
// one, which stays anyway.
func (r *runner) shed(current *window) {
	for {
		total := 0
		for w := range r.windows.All() {
			if w != current {
				total += w.memory(r.cfg)
			}
		}
		if total <= memoryLimit || !r.windows.Shed() {
			return
		}
	}
}

// count enters packets of one window under every key.
func (r *runner) count(w *window, b *capture.Batch, from int, headers []flow.Header) error {
	for i, keyer := range r.keyers {
		keys := keyer.Gather(b, from, headers)
		k := &w.keys[i]
		s := sighter{r: r, w: w, b: b, from: from, key: &r.cfg.Keys[i]}
		if err := errors.Join(
			r.countAddresses(&k.addr4, keys, &s),
			countDigests(r, &k.v4, keys.V4, keys.V4Frame, r.digest.v4.Sum16, &s, s.key.Format16),
			countDigests(r, &k.v6, keys.V6, keys.V6Frame, r.digest.v6.Sum48, &s, s.key.Format48),
			countDigests(r, &k.mac, keys.MAC, keys.MACFrame, r.digest.mac.Sum16, &s, s.key.Format16),
		); err != nil {
			return err
		}
	}
	return nil
}

// countAddresses enters elements that are bare IPv4 addresses.
func (r *runner) countAddresses(a *addresses, keys *flow.Keys, s *sighter) error {
	n := len(keys.Addr4)
	if n == 0 {
		return nil
	}
	if a.Counter == nil {
		var err error
		if a.Counter, err = r.cfg.newAddresses(); err != nil {
			return fmt.Errorf("memory for a window: %w", err)
		}
	}
	a.packets += packets(keys.V4Frame)
	seen := r.seen[:(n+63)/64]
	a.TestAndSet(seen, keys.Addr4)
	return s.report(seen, keys.V4Frame, func(i int) string { return s.key.FormatAddr4(keys.Addr4[i]) })
}

// countDigests enters elements of one family by their digests.
func countDigests[K [16]byte | [48]byte](
	r *runner, d *digests, keys []K, frames []uint32, sum func([]asm.Digest, []K), s *sighter, format func(K) string,
) error {
	n := len(keys)
	if n == 0 {
		return nil
	}
	if d.Counter == nil {
		var err error
		if d.Counter, err = r.cfg.newDigests(); err != nil {
			return fmt.Errorf("memory for a window: %w", err)
		}
	}
	d.packets += packets(frames)
	sum(r.digests[:n], keys)
	seen := r.seen[:(n+63)/64]
	d.TestAndSet(seen, r.digests[:n])
	return s.report(seen, frames, func(i int) string { return format(keys[i]) })
}

// packets counts how many packets elements come from: equal frame numbers
// follow each other.
func packets(frames []uint32) uint64 {
	n := uint64(0)
	for i, f := range frames {
		if i == 0 || f != frames[i-1] {
			n++
		}
	}
	return n
}
