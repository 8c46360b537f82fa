// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/reassemble"
	"github.com/flowdedup/flowdedup/capture/traits"
)

// Config defines copies, as in the run that made the output.
type Config struct {
	Identity identity.Config
	// A copy lies within Window of its original, before or after it, or within Packets packets
	// of the input. If both are 0, it lies anywhere.
	Window  time.Duration
	Packets uint64
	// Landmark cuts time, or the input, into windows of that length. A copy lies in the same
	// window as its original. Windows of time are cut as by a calendar.Calendar in Zone; nil is
	// UTC. Undecidable packets do not count in windows of packets.
	Landmark bool
	Zone     *time.Location
	// Tolerance is by how much a copy may lie beyond Window. Landmark windows have none.
	Tolerance time.Duration
	Across    bool               // copies come from another capture point
	Within    traits.PointFields // copies have these in common
	Groups    traits.Groups      // identifiers of Within's fields that count as equal
	// Refresh says that a copy may copy a copy. With Across the copies may be from one point, as a copy
	// restarts the window of an original of another point.
	Refresh bool
	// AnyChecksum says that packets with wrong checksums may be the originals of others.
	AnyChecksum bool
	// Unordered says that times start again, as at the begin of the next input if inputs were not merged.
	Unordered bool
	Sort      Sort  // how the input was sorted
	Slice     Slice // how the output was cut
	// Strip takes the headers off packets that the output lacks; nil for none. It may change the
	// batch, and returns the packets in their order. The file of removed packets has all headers.
	Strip func(*capture.Batch) *capture.Batch
	// Memory bounds the memory for packets in bytes, 128 each. Differences to the file of removed
	// packets take as much each, and at most half of it.
	Memory int
}

// Verifier checks the packets of an input against an output.
type Verifier struct {
	cfg      Config
	out, dup cursors // dup is empty without a file of removed packets
	identity *identity.Identity
	decoder  *headers.Decoder
	within   *traits.SightingReader // nil where no header or interface has to be in common
	digester *hashDigester
	order    *order             // nil for an input that was not sorted
	joiner   *reassemble.Joiner // of fragments in a sorted input, else nil
	cutter   *cutter            // nil for an output that was not cut
	copies   *copies
	lost     Report                    // findings of copies: Lost, Unknown and First
	rule     *rule                     // nil unless needsRule
	iface    *capture.Interface        // of the last packet of the output that was found
	balance  map[digest.Digest]removal // by the first bytes of contentOf
	report   Report

	undecidable *undecidable // nil where copies come from other points
	unfit       *unfit
	judged      uint64 // packets that are not undecidable

	headers []headers.Header
	digests []digest.Digest
	doubted []bool        // frames without IP that are undecidable
	written capture.Batch // packets as the output has them, with Config.Strip
}

// removal is about equal packets: how many were removed more than were found in the file
// of removed packets.
type removal struct {
	surplus int
	file    int    // of the first of them among the files of removed packets
	in, dup uint64 // the number of the first of them
	time    int64  // and its time
}

// ErrConfig is wrapped by the errors of New.
var ErrConfig = errors.New("impossible configuration")

// check returns an error for values that cannot be.
func (c *Config) check() error {
	if err := cmp.Or(c.Identity.Validate(), c.Within.Validate()); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	switch {
	case c.Window < 0 || c.Tolerance < 0 || c.Sort.Span < 0:
		return fmt.Errorf("%w: a window of %v with a tolerance of %v, sorted within %v", ErrConfig, c.Window, c.Tolerance, time.Duration(c.Sort.Span))
	case c.Window > 0 && c.Packets > 0:
		return fmt.Errorf("%w: a window of time, and one of packets", ErrConfig)
	case c.Landmark && c.Window == 0 && c.Packets == 0:
		return fmt.Errorf("%w: landmark windows without a length", ErrConfig)
	case c.Memory < 0 || c.Sort.Memory < 0:
		return fmt.Errorf("%w: %d bytes of memory, %d to sort", ErrConfig, c.Memory, c.Sort.Memory)
	}
	return nil
}

// New returns a Verifier that reads the output, and the removed packets unless duplicates is empty.
// Each is one file, or has a file for each input, by capture.Section.Input. New does not close files.
// Errors wrap ErrConfig.
func New(cfg Config, output, duplicates []capture.Source) (*Verifier, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if len(output) == 0 {
		return nil, fmt.Errorf("%w: no output", ErrConfig)
	}
	v := &Verifier{
		cfg: cfg, out: newCursors(output), dup: newCursors(duplicates), identity: identity.New(cfg.Identity),
		decoder:  headers.NewDecoder(cfg.Identity.Decode()),
		digester: &hashDigester{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}, unfit: newUnfit(&cfg),
	}
	if len(duplicates) > 0 {
		v.balance = map[digest.Digest]removal{}
	}
	if fields := cfg.Within &^ traits.PointLAN; fields != 0 { // LANs are compared by their places
		v.within = traits.NewSightingReader(traits.SightingConfig{Inner: cfg.Identity.Kind == identity.Inner, Tunnels: cfg.Identity.Tunnels, Fields: fields, Groups: cfg.Groups})
	}
	if needsRule(&cfg) {
		v.cfg.Memory /= 2
		v.rule = &rule{copies: newCopies(&v.cfg, nil)}
	}
	if cfg.Identity.Kind == identity.Inner && v.cfg.Sort.Span > 0 {
		v.joiner = reassemble.New(cfg.Identity.Tunnels)
	}
	if !cfg.Across {
		v.undecidable = newUndecidable(&cfg.Identity)
	}
	v.copies = newCopies(&v.cfg, v.unfinished)
	v.order, v.cutter = newOrder(cfg.Sort, v.join), newCutter(cfg.Slice, cfg.Identity.Tunnels)
	return v, nil
}

// unfinished counts a removed packet that is no copy of a remembered packet.
func (v *Verifier) unfinished(s *inputPacket, forgotten bool) {
	if forgotten {
		v.lost.Unknown++
		return
	}
	v.lost.Lost++
	v.lost.note(Difference{Kind: Lost, Packet: s.number, Time: s.time})
}

// Add checks the next packets of the input. They come in the order of the run that made the
// output, except with Config.Sort. Where tunnels are opened, their fragments were put together by
// package reassemble, except with Config.Sort.
func (v *Verifier) Add(b *capture.Batch) {
	if v.order != nil {
		v.order.add(b)
		return
	}
	v.check(b)
}

// join puts fragments of tunnels together in sorted packets, and checks these.
func (v *Verifier) join(b *capture.Batch) {
	if v.joiner != nil {
		v.joiner.Pass(b, false)
	}
	v.check(b)
}

// runLen is how many packets are decoded before they are looked for: their memory stays in the cache.
const runLen = 256

// check checks packets in the order of the output.
func (v *Verifier) check(b *capture.Batch) {
	written := v.strip(&v.written, b)
	for from := 0; from < len(b.Frames); from += runLen {
		v.run(b, written, from, min(runLen, len(b.Frames)-from))
	}
}

// run checks n packets from number from on: written has them as the output does.
func (v *Verifier) run(b, written *capture.Batch, from, n int) {
	v.headers, v.digests = capture.Resize(v.headers, n), capture.Resize(v.digests, n)
	v.decoder.Decode(v.headers, b, from)
	messages := v.identity.FromHeaders(b, from, v.headers)
	messages.Sum(v.digests, v.digester)
	v.copies.warm(v.digests)
	v.doubted = capture.Zeroed(v.doubted, n)
	for _, d := range messages.Doubts() {
		v.doubted[d.Number] = v.headers[d.Number].Version == 0
	}
	var within []uint64
	if v.within != nil {
		within = v.within.Points(b, from, n)
	}
	for k := range n {
		i, h := from+k, &v.headers[k]
		v.report.Packets++
		var s inputPacket // without a literal, which would be copied
		s.identity, s.time, s.number, s.state = v.digests[k], b.Frames[i].Time, v.report.Packets, pending
		if s.unfit = v.unfit.is(b, i, h); v.cfg.Across || v.cfg.Within&traits.PointLAN != 0 {
			s.point = placeOf(b, i)
		}
		if within != nil {
			s.within = within[k]
		}
		v.compare(b, written, i, &s)
		stays := v.undecidable != nil && (v.doubted[k] || v.undecidable.is(b, i, h))
		if !stays {
			v.judged++
			s.judged = v.judged
		}
		if v.rule != nil {
			v.rule.add(written, i, v.cutter.left(written, i), s, v.iface, stays)
		}
		if stays {
			v.stay(&s)
		} else {
			v.copies.add(&s)
		}
	}
}

// strip returns the packets of b as the output has them: b itself without Config.Strip, else to.
func (v *Verifier) strip(to, b *capture.Batch) *capture.Batch {
	if v.cfg.Strip == nil {
		return b
	}
	to.Buf, to.Frames = append(to.Buf[:0], b.Buf...), append(to.Frames[:0], b.Frames...)
	to.Interfaces, to.Sections = b.Interfaces, b.Sections
	*to = *v.cfg.Strip(to) // which is valid until the next call: compare makes calls between
	return to
}

// compare looks for packet i in the files: written has it as the output does. A datagram that was put
// together is there as its fragments, all of them or none, unless the tunnel was taken off.
func (v *Verifier) compare(b, written *capture.Batch, i int, s *inputPacket) {
	first, end, from, to := i, i+1, i, i+1
	if parts := reassemble.Parts(b, i); parts != nil {
		b = &capture.Batch{Buf: b.Buf, Frames: parts, Interfaces: b.Interfaces, Sections: b.Sections}
		first, end = 0, len(parts)
		if !written.Interfaces[written.Frames[i].Interface].Derived {
			written = v.strip(new(capture.Batch), b)
			from, to = 0, len(written.Frames)
		}
	}
	for k := from; k < to; k++ {
		if k == from || s.state == kept {
			s.state = pending
			if c := v.out.of(written, k); c.take(written, k, v.cutter.left(written, k)) {
				s.state, v.iface = kept, &c.batch.Interfaces[c.batch.Frames[c.at-1].Interface]
			}
		}
	}
	if to-from != end-first { // the packet inside was written, and fragments were removed
		written = b
	}
	for k := first; k < end; k++ {
		v.settle(b, written, k, s)
	}
	if s.state == kept {
		v.report.Kept++
	}
}

// stay counts an undecidable packet if it was removed. It is remembered as little as dedup
// does: no packet copies it.
func (v *Verifier) stay(s *inputPacket) {
	if s.state != kept {
		v.lost.Lost++
		v.lost.note(Difference{Kind: Lost, Packet: s.number, Time: s.time})
	}
}

// settle compares the removed packets with the file of them. A file may have any of several packets that
// are equal as the output has them: written.
func (v *Verifier) settle(b, written *capture.Batch, i int, s *inputPacket) {
	if len(v.dup) == 0 {
		return
	}
	dup := v.dup.of(b, i)
	// A kept packet may be in the file, too, if several packets are equal. A kept packet without a
	// time is not looked for: it would equal timed packets there.
	listed := (s.state == pending || s.time != capture.NoTime) && dup.take(b, i, v.cutter.left(b, i))
	if listed == (s.state == pending) {
		return
	}
	content := contentOf(written, i, v.cutter.left(written, i))
	key := digest.Digest{binary.LittleEndian.Uint64(content[:]), binary.LittleEndian.Uint64(content[8:])}
	r, ok := v.balance[key]
	if !ok && uint64(len(v.balance)) >= max(v.copies.most/2, 1) {
		v.report.Unknown++
		return
	}
	if !ok {
		r = removal{in: s.number, dup: dup.number, file: dup.file, time: s.time}
	}
	if listed {
		r.surplus--
	} else {
		r.surplus++
	}
	if v.balance[key] = r; r.surplus == 0 {
		delete(v.balance, key)
	}
	v.copies.taken = uint64(len(v.balance))
}

// contentOf hashes the parts that [same] compares, without options. The output has n bytes of the
// packet, so packets that differ only in later bytes have the same hash.
func contentOf(b *capture.Batch, i, n int) [sha256.Size]byte {
	f := &b.Frames[i]
	head := binary.LittleEndian.AppendUint64(nil, uint64(f.Time))
	head = binary.LittleEndian.AppendUint32(head, f.WireLen)
	head = binary.LittleEndian.AppendUint32(head, uint32(b.Interfaces[f.Interface].LinkType))
	return sha256.Sum256(append(head, b.Data(i)[:n]...))
}

// Report returns the findings after the last packet of the input. The error says why an output
// cannot be read to its end: a *capture.InputError or *capture.ReadError.
func (v *Verifier) Report() (*Report, error) {
	if v.order != nil {
		v.order.finish()
		if v.joiner != nil {
			var last capture.Batch
			v.joiner.Rest(&last)
			v.check(&last)
		}
	}
	v.copies.finish()
	r := &v.report
	r.Removed = r.Packets - r.Kept
	r.Foreign = v.rest(v.out, Foreign)
	if r.Foreign > 0 || !v.rule.agrees() {
		r.Lost, r.Unknown = v.lost.Lost, r.Unknown+v.lost.Unknown
		if v.lost.First != nil {
			r.note(*v.lost.First)
		}
	}
	for _, one := range v.balance {
		if one.surplus > 0 {
			r.Unlisted += uint64(one.surplus)
			r.note(Difference{Kind: Unlisted, Packet: one.in, Time: one.time})
		} else {
			r.Misplaced += uint64(-one.surplus)
			r.note(Difference{Kind: Misplaced, Packet: one.dup, File: one.file, Time: one.time})
		}
	}
	err := v.out.failure()
	r.Misplaced += v.rest(v.dup, Misplaced)
	return r, cmp.Or(err, v.dup.failure())
}

// rest counts the packets of files that are not in the input where they should be.
func (v *Verifier) rest(files cursors, kind Kind) (n uint64) {
	for _, c := range files {
		for first := true; c.next(); c.pass() {
			if first {
				v.report.note(Difference{Kind: kind, Packet: c.number + 1, File: c.file, Time: c.batch.Frames[c.at].Time})
			}
			n, first = n+1, false
		}
	}
	return n
}

// hashDigester digests identities by two hashes of the Go runtime under secret seeds: package digest is
// under check, too.
type hashDigester struct{ seeds [2]maphash.Seed }

// SumMessages implements digest.MessageDigester. Hashes of different messages differ by secret numbers,
// so a sum with a tweak is as good as a hash of both.
func (d *hashDigester) SumMessages(dst []digest.Digest, buf []byte, msgs []digest.Message) {
	for i, m := range msgs {
		message := buf[m.Off:][:m.Len]
		dst[i] = digest.Digest{maphash.Bytes(d.seeds[0], message) + m.Tweak, maphash.Bytes(d.seeds[1], message) + m.Tweak}
	}
}
