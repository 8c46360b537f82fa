// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"bytes"
	"math"
	"math/bits"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
)

// maxTableBytes bounds the memory of the descriptions of sections and interfaces, which
// stay to the end of the input. It is enough for 130,000 interfaces with short names, or 100,000
// sections with an interface each. Merging copies the descriptions of all inputs.
// A file with more is an attack on its readers.
const maxTableBytes = 32 << 20

// About the share of a section and an interface in this: the entries in the tables and in the
// map of names. The length of a name is added.
const (
	sectionCost   = 64
	interfaceCost = 256
)

// ifaceTable holds the sections and interfaces of a pcapng input.
type ifaceTable struct {
	ifaces   []capture.Interface
	sections []capture.Section
	clocks   []clock // indexed as ifaces
	first    uint32  // index of the current section's interface 0
	cost     int     // of maxTableBytes

	points    map[pointKey]uint32
	sameNames map[string]uint32 // interfaces of the current section by name
}

// pointKey identifies a capture point across sections: by the name, and the position
// among the interfaces of that name in the section (captures merged into one section have
// several "eth0" of different points), or by the number of an interface without a name.
type pointKey struct {
	name string
	nth  uint32
}

func newIfaceTable() ifaceTable {
	return ifaceTable{points: map[pointKey]uint32{}, sameNames: map[string]uint32{}}
}

func (t *ifaceTable) spend(n int) error {
	if t.cost += n; t.cost > maxTableBytes {
		return damaged("too many sections and interfaces to remember (%d and %d)", len(t.sections), len(t.ifaces))
	}
	return nil
}

func (t *ifaceTable) beginSection(big bool) error {
	if err := t.spend(sectionCost); err != nil {
		return err
	}
	t.sections = append(t.sections, capture.Section{Format: capture.FormatPcapNG, BigEndian: big})
	t.first = uint32(len(t.ifaces))
	clear(t.sameNames)
	return nil
}

// addInterface adds the interface of a description block.
func (t *ifaceTable) addInterface(block []byte, big bool) error {
	if len(block) < encoding.MinInterfaceLen {
		return damaged("interface description of %d bytes", len(block))
	}
	iface := capture.Interface{
		Section:  uint32(len(t.sections) - 1),
		ID:       uint32(len(t.ifaces)) - t.first,
		LinkType: capture.LinkType(encoding.Uint16(block[8:], big)),
		SnapLen:  encoding.Uint32(block[12:], big),
	}
	resolution, err := interfaceOptions(&iface, block[16:len(block)-4], big)
	if err != nil {
		return err
	}
	if err := t.spend(interfaceCost + len(iface.Name)); err != nil {
		return err
	}
	iface.TicksPerSecond = resolution.ticksPerSecond()
	iface.CapturePoint = t.point(&iface)
	t.ifaces = append(t.ifaces, iface)
	t.clocks = append(t.clocks, newClock(resolution, iface.OffsetSeconds, capLenCeiling(iface.LinkType)))
	return nil
}

// interfaceOptions reads the options that change the meaning of packets. It skips unknown
// options, and options that are too short for their values.
func interfaceOptions(iface *capture.Interface, list []byte, big bool) (resolution, error) {
	res := microseconds
	for o := (encoding.Options{Rest: list, Big: big}); ; {
		code, value, err := o.Next()
		switch {
		case err != nil:
			return res, damaged("%v", err)
		case code == encoding.OptEnd:
			return res, nil
		case code == encoding.OptName:
			// Some writers count the terminator in.
			iface.Name = string(bytes.TrimRight(value, "\x00"))
		case code == encoding.OptTSResol && len(value) >= 1:
			res = resolution(value[0])
		case code == encoding.OptFCSLen && len(value) >= 1:
			iface.FCSLen = value[0]
		case code == encoding.OptTSOffset && len(value) >= 8:
			offset := le.Uint64(value)
			if big {
				offset = bits.ReverseBytes64(offset)
			}
			iface.OffsetSeconds = int64(offset)
		}
	}
}

// point numbers the capture point of an interface; see Interface.CapturePoint.
func (t *ifaceTable) point(iface *capture.Interface) uint32 {
	key := pointKey{iface.Name, iface.ID}
	if iface.Name != "" {
		key.nth = t.sameNames[iface.Name]
		t.sameNames[iface.Name]++
	}
	point, ok := t.points[key]
	if !ok {
		point = uint32(len(t.points))
		t.points[key] = point
	}
	return point
}

// resolution is the value of if_tsresol: units of 10^-n seconds, or of 2^-n
// seconds if the high bit is set (draft-ietf-opsawg-pcapng, section 4.2).
type resolution uint8

// microseconds is the resolution of an interface that declares none.
const microseconds resolution = 6

func (r resolution) split() (n uint, binary bool) {
	return uint(r & 0x7F), r&0x80 != 0
}

// ticksPerSecond saturates at 1<<63.
func (r resolution) ticksPerSecond() uint64 {
	switch n, binary := r.split(); {
	case binary:
		return 1 << min(n, 63)
	case n > 18: // 10^19 exceeds 1<<63
		return 1 << 63
	default:
		return power10(n)
	}
}

// power10 returns 10^n for n up to 19.
func power10(n uint) uint64 {
	v := uint64(1)
	for range n {
		v *= 10
	}
	return v
}

// clock turns the timestamps of one interface into nanoseconds since 1970. It also holds
// the limit on captured lengths of the interface.
//
// Nanoseconds are floor(t * mul / div / 2^shift) + offset seconds, computed
// exactly in 128 bits.
type clock struct {
	mul, div uint64
	simple   uint64 // timestamps below it only need mul, and fit
	offset   int64
	shift    uint8
	maxLen   uint32
}

func newClock(r resolution, offsetSeconds int64, maxLen uint32) clock {
	c := clock{mul: 1, div: 1, offset: offsetSeconds, maxLen: maxLen}
	n, binary := r.split()
	switch {
	case binary:
		c.mul, c.shift = 1e9, uint8(n)
	case n <= 9:
		c.mul = power10(9 - n)
		if offsetSeconds == 0 {
			c.simple = math.MaxInt64/c.mul + 1
		}
	case n <= 9+19:
		c.div = power10(n - 9)
	default:
		c.mul = 0 // 64 bits of such units are less than a nanosecond
	}
	return c
}

// nanoseconds converts a timestamp. Times that an int64 cannot hold become the
// nearest that it can; NoTime is never returned.
func (c *clock) nanoseconds(t uint64) int64 {
	if t < c.simple {
		return int64(t * c.mul)
	}
	return c.scaled(t)
}

// scaled converts any timestamp.
func (c *clock) scaled(t uint64) int64 {
	hi, lo := bits.Mul64(t, c.mul)
	if c.div > 1 {
		lo /= c.div // then mul is 1, and hi 0
	}
	if c.shift >= 64 {
		hi, lo = 0, hi>>(c.shift-64)
	} else if c.shift > 0 {
		hi, lo = hi>>c.shift, hi<<(64-c.shift)|lo>>c.shift
	}
	// The sum of two numbers below 1<<94 is taken in two's complement.
	var carry uint64
	if c.offset >= 0 {
		addHi, addLo := bits.Mul64(uint64(c.offset), 1e9)
		lo, carry = bits.Add64(lo, addLo, 0)
		hi, _ = bits.Add64(hi, addHi, carry)
	} else {
		subHi, subLo := bits.Mul64(-uint64(c.offset), 1e9)
		lo, carry = bits.Sub64(lo, subLo, 0)
		hi, _ = bits.Sub64(hi, subHi, carry)
	}
	switch {
	case int64(hi) > 0, hi == 0 && lo > math.MaxInt64:
		return math.MaxInt64
	case hi == 0:
		return int64(lo)
	case hi == math.MaxUint64 && int64(lo) < 0 && int64(lo) != math.MinInt64:
		return int64(lo)
	}
	return math.MinInt64 + 1
}
