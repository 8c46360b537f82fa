package flow

import (
	"math"
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/headers"
	"github.com/flowdedup/flowdedup/capture"
)

// Layout of a key, in bytes. IPv4 (16): addresses at 0 and 4, ports at 8 and
// 10, then protocol, VLAN flag and identifier at 12, 13, 14. IPv6 (48): the
// same with addresses of 16 bytes, so from 32 on, and 8 zero bytes at the end.
// Hardware address (16): 6 bytes, and the VLAN as for IPv4. Integers are
// big-endian; what is not part of the key is zero.
const (
	size4, size6 = 16, 48
	dst4, dst6   = 4, 16
	tail4, tail6 = 8, 32 // ports, protocol, VLAN
)

// Keys are the elements of a run of frames. For each family the Frame slice
// says which frame an element comes from, counted from the first of the run.
type Keys struct {
	// Addr4 holds the IPv4 elements, as big-endian numbers, where a key is one
	// address without a VLAN; V4 holds them otherwise.
	Addr4    []uint32
	V4       [][size4]byte
	V4Frame  []uint32
	V6       [][size6]byte
	V6Frame  []uint32
	MAC      [][size4]byte
	MACFrame []uint32
}

// Keyer makes keys of one kind from decoded frames. It keeps its buffers from call to
// call, so a Keyer serves one goroutine.
type Keyer struct {
	cfg       KeyConfig
	perPacket int       // elements of a packet
	numeric   bool      // IPv4 elements are numbers: Keys.Addr4
	sorted    bool      // the smaller end is the first
	src       [2]uint64 // masks of the first address of an IPv6 key, in memory's order of bytes
	dst       [2]uint64 // of the second, 0 without one
	both4     uint64    // of both of an IPv4 key
	tail      uint64    // mask of the tail
	own       families  // used without a Keyers
	keys      Keys
}

// families lists the frames of a run that have an IP header: offsets are those of the
// header, tails are as they end a key.
type families struct {
	four, six headers.TupleList
}

// The parts of a tail as a big-endian word.
const (
	tailPorts    = 0xffffffff << 32
	tailProtocol = 0xff << 24
	tailVLAN     = 0x1ffff
)

// NewKeyer returns a Keyer. It panics if cfg.Validate returns an error.
func NewKeyer(cfg KeyConfig) *Keyer {
	if err := cfg.Validate(); err != nil {
		panic("flow: NewKeyer: " + err.Error())
	}
	k := &Keyer{cfg: cfg, perPacket: 1, numeric: cfg.Kind <= IP && !cfg.VLAN, sorted: cfg.Kind == Biflow}
	if cfg.Kind == IP || cfg.Kind == MACs {
		k.perPacket = 2
	}
	k.src = [2]uint64{math.MaxUint64, math.MaxUint64}
	if cfg.Mask6 != 0 {
		k.src[0] = bits.ReverseBytes64(k.src[0] << max(64-cfg.Mask6, 0))
		k.src[1] = bits.ReverseBytes64(k.src[1] << min(128-cfg.Mask6, 64))
	}
	mask4 := uint64(math.MaxUint32)
	if cfg.Mask4 != 0 {
		mask4 = mask4 << (32 - cfg.Mask4) & math.MaxUint32
	}
	k.both4 = mask4 << 32
	if cfg.Kind > IP {
		k.dst, k.both4 = k.src, k.both4|mask4
	}
	if cfg.Kind == Flow || cfg.Kind == Biflow {
		k.tail = tailPorts | tailProtocol
	}
	if cfg.VLAN {
		k.tail |= tailVLAN
	}
	return k
}

// FromHeaders makes the keys of the frames from to from+len(h)-1 of b, which h
// describes. They are valid until the next call.
func (k *Keyer) FromHeaders(b *capture.Batch, from int, h []Header) *Keys {
	if k.cfg.Kind != MACs {
		k.own.reset(len(h))
		k.own.split(b.Frames[from:from+len(h)], h, 0, k.tail != 0)
	}
	return k.gather(&k.own, b, from, h)
}

// gather makes keys of frames that were split, or described.
func (k *Keyer) gather(f *families, b *capture.Batch, from int, h []Header) *Keys {
	if k.cfg.Kind == MACs {
		k.gatherMACs(b, from, h)
		return &k.keys
	}
	k.gather4(b.Buf, &f.four)
	k.gather6(b.Buf, &f.six)
	return &k.keys
}

// reset empties the lists and makes room for n frames.
func (f *families) reset(n int) {
	f.four.Reset(n)
	f.six.Reset(n)
}

// split lists more frames, the first of which has the given number, by version, with
// tails if they are asked for. Each is entered in both lists and stays in the one that
// then grows, since versions come in no order that a CPU could guess.
func (f *families) split(frames []capture.Frame, h []Header, first int, tails bool) {
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

// addTails writes the tails of the elements of a list from number from on, whose frames
// h describes from frame first on.
func addTails(l *headers.TupleList, from int, h []Header, first int) {
	tails := l.Tail[from:]
	for i, frame := range l.Frame[from:] {
		tails[i] = h[int(frame)-first].tail()
	}
}

// resize returns s, or a new slice if s has no room, with n elements of arbitrary
// content.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// framesOf returns the frames that elements come from: frames, or each of them twice
// in the memory of old.
func (k *Keyer) framesOf(old, frames []uint32) []uint32 {
	if k.perPacket == 1 {
		return frames
	}
	old = resize(old, 2*len(frames))
	for i, f := range frames {
		old[2*i], old[2*i+1] = f, f
	}
	return old
}

// MultiKeyer makes keys of several kinds from the same frames, which are looked through
// once. It keeps its buffers from call to call, so it serves one goroutine.
type MultiKeyer struct {
	all                  []*Keyer
	macs, headers, tails bool // some keys are of hardware addresses, of IP headers, have a tail
	families
	keys []*Keys

	// What Read needs.
	decoder Decoder
	tuples  *headers.Tuples
	msgs    []digest.Message
	read    []Header
}

// NewMultiKeyer returns a Keyers, and a Decoder for its Read with the given configuration.
// It panics if Validate of a configuration of keys returns an error.
func NewMultiKeyer(cfgs []KeyConfig, decode DecoderConfig) *MultiKeyer {
	k := &MultiKeyer{keys: make([]*Keys, len(cfgs)), decoder: *NewDecoder(decode)}
	for _, cfg := range cfgs {
		one := NewKeyer(cfg)
		k.all = append(k.all, one)
		k.macs = k.macs || cfg.Kind == MACs
		k.headers = k.headers || cfg.Kind != MACs
		k.tails = k.tails || one.tail != 0
	}
	var ports [256]bool
	for number, mask := range portMask {
		ports[number] = mask != 0
	}
	k.tuples = headers.NewTuples(k.decoder.slowProtocols(), &ports)
	return k
}

// FromHeaders makes the keys of the frames from to from+len(h)-1 of b, which h describes:
// element i of what it returns has those of configuration i. They are valid until the
// next call.
func (k *MultiKeyer) FromHeaders(b *capture.Batch, from int, h []Header) []*Keys {
	if k.headers {
		k.reset(len(h))
		k.split(b.Frames[from:from+len(h)], h, 0, k.tails)
	}
	return k.gather(b, from, h)
}

func (k *MultiKeyer) gather(b *capture.Batch, from int, h []Header) []*Keys {
	for i, one := range k.all {
		k.keys[i] = one.gather(&k.families, b, from, h)
	}
	return k.keys
}

// FromFrames decodes the frames from to from+n-1 of b, and makes their keys as Gather does. It
// is faster, since most datagrams need no Header.
func (k *MultiKeyer) FromFrames(b *capture.Batch, from, n int) []*Keys {
	if k.macs {
		return k.FromHeaders(b, from, k.decode(b, from, n))
	}
	k.reset(n)
	frames := b.Frames[from : from+n]
	k.msgs = resize(k.msgs, n)
	zeroCopyFrames(k.msgs, frames)
	for at := 0; at < n; {
		ethernet := at + ethernetFrames(frames[at:], b.Interfaces)
		done, can := k.tuples.List(&k.four, &k.six, k.msgs[at:ethernet], uint32(at), b.Buf)
		at += done
		rest := n - at
		if can {
			rest = min(rest, tupleGroup)
		}
		k.split(frames[at:at+rest], k.decode(b, from+at, rest), at, k.tails)
		at += rest
	}
	return k.gather(b, from, nil)
}

// tupleGroup is how many frames are decoded where there is something rare about one of
// them.
const tupleGroup = 8

// decode returns the headers of n frames, which are valid until the next call.
func (k *MultiKeyer) decode(b *capture.Batch, from, n int) []Header {
	k.read = resize(k.read, n)
	k.decoder.Decode(k.read, b, from)
	return k.read
}
