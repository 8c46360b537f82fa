package capture

import (
	"bytes"
	"math/bits"
)

// maxTableBytes bounds what the descriptions of sections and interfaces may
// take in memory, for they are kept to the end of the input: some 250,000
// interfaces of short names. A file with more is made to exhaust its readers.
const maxTableBytes = 64 << 20

// What a section and an interface cost of that, about: the entries in the
// tables, and of the map of names. A name costs its length besides.
const (
	sectionCost   = 64
	interfaceCost = 256
)

// ifaceTable holds the sections and interfaces of a pcapng input.
type ifaceTable struct {
	ifaces   []Interface
	sections []Section
	clocks   []clock // indexed as ifaces
	first    uint32  // index of the current section's interface 0
	cost     int     // of maxTableBytes

	points    map[pointKey]uint32
	sameNames map[string]uint32 // interfaces of the current section by name
}

// pointKey is what makes interfaces of two sections the same place: the name
// and which of that name it is within the section (captures merged into one
// section have several "eth0", seen at different places), or the number of an
// interface without a name.
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
	t.sections = append(t.sections, Section{Format: FormatPcapNG, BigEndian: big})
	t.first = uint32(len(t.ifaces))
	clear(t.sameNames)
	return nil
}

// addInterface takes in an interface description block.
func (t *ifaceTable) addInterface(block []byte, big bool) error {
	if len(block) < minInterfaceLen {
		return damaged("interface description of %d bytes", len(block))
	}
	iface := Interface{
		Section:  uint32(len(t.sections) - 1),
		ID:       uint32(len(t.ifaces)) - t.first,
		LinkType: LinkType(order16(block[8:], big)),
		SnapLen:  order32(block[12:], big),
	}
	resolution, err := interfaceOptions(&iface, block[16:len(block)-4], big)
	if err != nil {
		return err
	}
	if err := t.spend(interfaceCost + len(iface.Name)); err != nil {
		return err
	}
	iface.TicksPerSecond = resolution.ticksPerSecond()
	iface.Point = t.point(&iface)
	t.ifaces = append(t.ifaces, iface)
	t.clocks = append(t.clocks, newClock(resolution, iface.OffsetSeconds, capLenCeiling(iface.LinkType)))
	return nil
}

// interfaceOptions reads the options that change what packets mean. An option
// too short for its value is passed over, as is one that is not known.
func interfaceOptions(iface *Interface, list []byte, big bool) (resolution, error) {
	res := microseconds
	for o := (optionList{rest: list, big: big}); ; {
		code, value, err := o.next()
		switch {
		case err != nil:
			return res, damaged("%v", err)
		case code == optEnd:
			return res, nil
		case code == optName:
			// Some writers count the terminator in.
			iface.Name = string(bytes.TrimRight(value, "\x00"))
		case code == optTSResol && len(value) >= 1:
			res = resolution(value[0])
		case code == optFCSLen && len(value) >= 1:
			iface.FCSLen = value[0]
		case code == optTSOffset && len(value) >= 8:
			offset := le.Uint64(value)
			if big {
				offset = bits.ReverseBytes64(offset)
			}
			iface.OffsetSeconds = int64(offset)
		}
	}
}

// point numbers the place of an interface within the input; see Interface.Point.
func (t *ifaceTable) point(iface *Interface) uint32 {
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
