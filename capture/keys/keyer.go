// SPDX-License-Identifier: Apache-2.0

package keys

import (
	"encoding/binary"
	"slices"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/frames"
	kernels "github.com/flowdedup/flowdedup/asm/headers"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// Layout of a key. Integers are big-endian, and bytes that are not part of the key are zero.
//
//	IPv4, 16 bytes    addresses at 0 and 4; ports at 8 and 10; protocol at 12; VLAN flag
//	                  at 13, and VLAN identifier at 14
//	IPv6, 48 bytes    addresses at 0 and 16; from 32 on as IPv4 from 8 on; 8 zero bytes
//	MAC, 16 bytes     address at 0; VLAN as for IPv4
const (
	size4, size6 = 16, 48
	dst4, dst6   = 4, 16
	tail4, tail6 = 8, 32 // ports, protocol, VLAN
)

// Keys are the elements that were made from a run of frames. The Frame slice of each
// family says which frame an element comes from, counted from the first of the run.
type Keys struct {
	// Addr4 has the IPv4 elements, as big-endian numbers, if a key is a single address without
	// a VLAN. Otherwise V4 has them.
	Addr4    []uint32
	V4       [][16]byte
	V4Frame  []uint32
	V6       [][48]byte
	V6Frame  []uint32
	MAC      [][16]byte
	MACFrame []uint32
}

// Keyer makes keys of several kinds in one pass over the frames. It keeps its
// buffers from call to call, so one goroutine at a time may use it.
type Keyer struct {
	makers []*keyMaker
	// Some keys need hardware addresses, IP headers, a tail, ports.
	macs, headers, tails, ports bool
	families
	keys []*Keys

	// For FromFrames.
	decoder headers.Decoder
	tuples  *kernels.Tuples // in Ethernet frames
	untyped *kernels.Tuples // in others, after headers.PlaceIP
	placer  *placer         // for frames that these leave, and for all if it opens tunnels
	tagged  bool            // some keys need a VLAN
	inner   bool            // the decoder opens tunnels
	msgs    []digest.Message
	read    []headers.Header

	unopened headers.UnopenedCounts

	chosen4, chosen6 []byte // for FromKeys
	withoutPorts     uint64
	fragments        []Fragment
	withoutIP        uint64 // packets without an IP header
}

// NewKeyer returns a Keyer for keys of the given configurations. FromFrames decodes
// frames as decode says. NewKeyer panics if Validate of a configuration returns an error.
func NewKeyer(cfgs []Config, decode headers.DecoderConfig) *Keyer {
	k := &Keyer{keys: make([]*Keys, len(cfgs)), decoder: *headers.NewDecoder(decode), inner: decode.Inner}
	for _, cfg := range cfgs {
		maker := newKeyMaker(cfg)
		k.makers = append(k.makers, maker)
		k.macs = k.macs || cfg.Kind == MACs
		k.headers = k.headers || cfg.Kind != MACs
		k.tails = k.tails || maker.tail != 0
		k.ports = k.ports || maker.tail&tailPorts != 0
	}
	var ports [256]bool
	for number, mask := range iana.PortMask {
		ports[number] = mask != 0
	}
	k.tuples = kernels.NewTuples(k.decoder.SlowProtocols(), &ports)
	k.untyped = k.tuples.Untyped()
	k.tagged = slices.ContainsFunc(cfgs, func(c Config) bool { return c.VLAN })
	k.placer = newPlacer(&k.decoder, decode.Inner && !k.tagged)
	return k
}

// FromHeaders makes the keys of the frames from to from+len(h)-1 of b, which h describes.
// Element i of the result has the keys of configuration i. They are valid until the next
// call.
func (k *Keyer) FromHeaders(b *capture.Batch, from int, h []headers.Header) []*Keys {
	k.fragments = k.fragments[:0]
	if k.headers {
		k.reset(len(h))
		k.splitRead(b, from, h, 0)
		k.noteRead(b, from, 0, h)
	}
	return k.gather(b, from, h)
}

// splitRead adds the frames from number from on, which h describes, to the lists under numbers
// from first on. It counts frames without IP and tunnels that were not opened.
func (k *Keyer) splitRead(b *capture.Batch, from int, h []headers.Header, first int) {
	before := len(k.four.Frame) + len(k.six.Frame)
	k.split(b.Frames[from:from+len(h)], h, first, k.tails)
	if !k.inner && len(k.four.Frame)+len(k.six.Frame) == before+len(h) {
		return
	}
	for i := range h {
		if h[i].Version != 0 && h[i].Flags&headers.FlagClosed == 0 {
			continue
		}
		if h[i].Version == 0 {
			k.withoutIP++
		}
		if what, ok := k.decoder.Unopened(b, from+i); ok {
			k.unopened.Count(what, 1)
		}
	}
}

// TakeUnopened adds to c the frames that were not opened since the call before. If all keys
// are hardware addresses, none are counted.
func (k *Keyer) TakeUnopened(c *headers.UnopenedCounts) {
	if k.unopened != (headers.UnopenedCounts{}) {
		c.Add(&k.unopened)
		k.unopened = headers.UnopenedCounts{}
	}
}

func (k *Keyer) gather(b *capture.Batch, from int, h []headers.Header) []*Keys {
	for i, maker := range k.makers {
		k.keys[i] = maker.gather(&k.families, b, from, h)
	}
	return k.keys
}

// FromFrames decodes the frames from to from+n-1 of b, and returns the same as FromHeaders. It
// is faster, since most frames take the fast path of asm/headers, which needs no Header.
func (k *Keyer) FromFrames(b *capture.Batch, from, n int) []*Keys {
	if k.macs {
		return k.FromHeaders(b, from, k.decode(b, from, n))
	}
	k.reset(n)
	k.fragments = k.fragments[:0]
	all := b.Frames[from : from+n]
	k.msgs = capture.Resize(k.msgs, n)
	frames.Messages(k.msgs, frames.Of(all), 0)
	for at := 0; at < n; {
		run, link := headers.LinkRun(all[at:], b.Interfaces)
		if link != capture.LinkEthernet {
			headers.PlaceIP(k.msgs[at:at+run], link, b.Buf)
		}
		if k.placer.opens {
			k.listPlaced(link, b, from, at, at+run)
		} else {
			k.list(link, b, from, at, at+run)
		}
		at += run
	}
	return k.gather(b, from, nil)
}

// The placer takes tupleGroup frames when Tuples stops, and twice as many each time it
// stops soon after, up to tupleGroups.
const tupleGroup, tupleGroups = 8, 64

// list adds the frames from number at to end-1, of one link type, to the lists. The placer takes
// frames that need more than [kernels.Tuples].
func (k *Keyer) list(link capture.LinkType, b *capture.Batch, from, at, end int) {
	rule := k.tuples
	if link != capture.LinkEthernet {
		rule = k.untyped
	}
	for group := tupleGroup; at < end; group = min(2*group, tupleGroups) {
		done := rule.List(&k.four, &k.six, k.msgs[at:end], uint32(at), b.Buf)
		if done >= tupleGroup {
			group = tupleGroup
		}
		at += done
		rest := min(group, end-at)
		k.listPlaced(link, b, from, at, at+rest)
		at += rest
	}
}

// listRead adds the frames from number at to end-1, which it decodes, to the lists.
func (k *Keyer) listRead(b *capture.Batch, from, at, end int) {
	h := k.decode(b, from+at, end-at)
	k.splitRead(b, from+at, h, at)
	k.noteRead(b, from+at, at, h)
}

// WithoutIP returns how many packets of all calls have no IP header, so that no key of addresses
// was made. It is 0 if all keys are hardware addresses.
func (k *Keyer) WithoutIP() uint64 { return k.withoutIP }

// WithoutPorts returns how many packets of all calls have ports that were not captured. Keys of
// flows have ports 0 then, so that flows of the same ends look like a single flow.
func (k *Keyer) WithoutPorts() uint64 { return k.withoutPorts }

// portsCut returns 1 if the ports of frame d lie behind its captured bytes, or if its
// extension headers do, which say whether there are ports. Else it returns 0.
func portsCut(h *headers.Header, d []byte) int {
	laterFragment := h.Flags&headers.FlagFragment != 0 && h.L4 == 0
	if h.Version == 0 || laterFragment || iana.PortMask[h.Proto] == 0 && !(h.Version == 6 && iana.IsExtension[h.Proto]) {
		return 0
	}
	if end := h.WireEnd(d); end == headers.UnknownEnd || end > uint64(h.End) {
		return 1
	}
	return 0
}

// Keep has the IPv4 and IPv6 keys of configuration i, of two addresses, kept from call to
// call until Forget.
func (k *Keyer) Keep(i int) { k.makers[i].keeps = true }

// Kept returns the keys of configuration i that were kept. They are valid until the next
// call.
func (k *Keyer) Kept(i int) (v4 [][size4]byte, v6 [][size6]byte) {
	kept := &k.makers[i].kept
	return kept.V4, kept.V6
}

// Forget keeps no keys that were made before.
func (k *Keyer) Forget() {
	for _, maker := range k.makers {
		maker.kept.V4, maker.kept.V6 = maker.kept.V4[:0], maker.kept.V6[:0]
	}
}

// FromKeys makes the keys that follow from keys of two addresses, as Config.Determines says.
// chosen4 and chosen6 are the numbers of the keys of v4 and v6 that it takes. The Frame
// slices of the result have these numbers. No key has hardware addresses: it makes none of MACs.
func (k *Keyer) FromKeys(v4 [][size4]byte, v6 [][size6]byte, chosen4, chosen6 []uint32) []*Keys {
	k.chosen4, k.chosen6 = k.chosen4[:0], k.chosen6[:0]
	for _, number := range chosen4 {
		k.chosen4 = append(k.chosen4, v4[number][:]...)
	}
	for _, number := range chosen6 {
		k.chosen6 = append(k.chosen6, v6[number][:]...)
	}
	listKeys(&k.four, k.chosen4, chosen4, size4, tail4)
	listKeys(&k.six, k.chosen6, chosen6, size6, tail6)
	for i, maker := range k.makers {
		if maker.cfg.Kind != MACs {
			maker.gather4(k.chosen4, &k.four, 0)
			maker.gather6(k.chosen6, &k.six, 0)
		}
		k.keys[i] = &maker.keys
	}
	return k.keys
}

// listKeys lists keys of size bytes under their numbers.
func listKeys(l *kernels.TupleList, keys []byte, numbers []uint32, size, tail int) {
	l.Reset(len(numbers))
	l.Resize(len(numbers))
	copy(l.Frame, numbers)
	for i := range numbers {
		l.At[i], l.Tail[i] = uint32(i*size), binary.BigEndian.Uint64(keys[i*size+tail:])
	}
}

// decode returns the headers of n frames. They are valid until the next call.
func (k *Keyer) decode(b *capture.Batch, from, n int) []headers.Header {
	k.read = capture.Resize(k.read, n)
	k.decoder.Decode(k.read, b, from)
	return k.read
}

// families lists the frames of a run that have an IP header, by version. Offsets are offsets
// of the IP header; tails are as they end a key.
type families struct {
	four, six kernels.TupleList
}

// reset empties the lists and makes room for n frames.
func (f *families) reset(n int) {
	f.four.Reset(n)
	f.six.Reset(n)
}

// split adds more frames to the lists, with tails if wanted. The first frame has the
// given number. A CPU cannot predict the mix of versions, so there is no branch on it:
// every frame is written to both lists, and the length of only one grows.
func (f *families) split(frames []capture.Frame, h []headers.Header, first int, tails bool) {
	frames = frames[:len(h)]
	four, six := f.four, f.six
	n4, n6 := len(four.Frame), len(six.Frame)
	four.Resize(n4 + len(h))
	six.Resize(n6 + len(h))
	from4, from6 := n4, n6
	for i := range h {
		at, version := frames[i].Data+h[i].Start, h[i].Version
		four.Frame[n4], four.At[n4] = uint32(first+i), at
		six.Frame[n6], six.At[n6] = uint32(first+i), at
		is6 := int(version >> 1 & 1)
		n6 += is6
		n4 += int(version>>2&1) - is6
	}
	f.four.Resize(n4)
	f.six.Resize(n6)
	if tails {
		addTails(&f.four, from4, h, first)
		addTails(&f.six, from6, h, first)
	}
}

// addTails writes the tails of the list elements from number from on. Their frames are
// described by h, from frame first on.
func addTails(l *kernels.TupleList, from int, h []headers.Header, first int) {
	tails := l.Tail[from:]
	for i, frame := range l.Frame[from:] {
		tails[i] = tailOf(&h[int(frame)-first])
	}
}

func le64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }
