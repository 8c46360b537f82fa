// SPDX-License-Identifier: Apache-2.0

package traits

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/flowdedup/flowdedup/capture/headers"
)

// Groups joins identifiers of headers: packets with any identifiers of a group were seen at the same
// point, if they differ in nothing else. The zero value joins none: see ParsePoints.
type Groups struct {
	// Each identifier of a group leads to the least of the group. Other identifiers have no entry.
	vlans, numbers map[uint32]uint32
}

// of returns the identifier that stands for an identifier of a header of kind k.
func (g *Groups) of(k headers.LayerKind, id uint32) uint32 {
	group := g.numbers
	if k == headers.LayerVLAN {
		group = g.vlans
	}
	if least, ok := group[id]; ok {
		return least
	}
	return id
}

// Points is what distinguishes points: the fields, and the groups of their identifiers.
type Points struct {
	Fields PointFields
	Groups Groups
	// Words are the list that ParsePoints has read, in one form for equal lists.
	Words []string
}

// ParsePoints reads a list of fields such as "vlan,input": "vlan", "interface", "input" and "lan" are
// fields of PointFields, and "vni" is PointVNI with the identifiers that differ by direction, such as the
// TEID of GTP-U. These distinguish tenants, but a conversation has two of them. "vlan" and "vni"
// may have groups: "vlan:10+110,20+120,input" joins VLANs 10 and 110, and 20 and 120. VLAN 0 stands
// for frames without a tag.
func ParsePoints(list string) (p Points, err error) {
	field := ""
	for word := range strings.SplitSeq(list, ",") {
		word = strings.TrimSpace(word)
		name, group, grouped := strings.Cut(word, ":")
		if _, err := strconv.ParseUint(word[:min(1, len(word))], 10, 8); err == nil && field != "" {
			name, group, grouped = field, word, true
		}
		fields, err := parsePointField(name)
		if err != nil {
			return Points{}, err
		}
		p.Fields |= fields
		if field = ""; !grouped {
			if slices.Contains(p.Words, name) {
				return Points{}, fmt.Errorf("%s is named twice", name)
			}
			p.Words = append(p.Words, name)
			continue
		}
		field = name
		if err := p.join(name, group); err != nil {
			return Points{}, err
		}
	}
	p.Words = slices.DeleteFunc(p.Words, p.isImplied)
	slices.Sort(p.Words)
	return p, nil
}

// join adds a group such as "10+110" of a field.
func (p *Points) join(field, group string) error {
	most, joined := uint64(math.MaxUint32), &p.Groups.numbers
	switch field {
	case "vlan":
		most, joined = 1<<12-1, &p.Groups.vlans
	case "vni":
	default:
		return fmt.Errorf("%s:%s: only vlan and vni have groups", field, group)
	}
	var ids []uint32
	for word := range strings.SplitSeq(group, "+") {
		id, err := strconv.ParseUint(strings.TrimSpace(word), 10, 32)
		if err != nil || id > most {
			return fmt.Errorf("%s:%s: want numbers up to %d with + between them, as in %s:10+110", field, group, most, field)
		}
		ids = append(ids, uint32(id))
	}
	slices.Sort(ids)
	if len(ids) < 2 {
		return fmt.Errorf("%s:%s: a group has two numbers or more, as in %s:10+110; others are groups of their own", field, group, field)
	}
	if *joined == nil {
		*joined = map[uint32]uint32{}
	}
	word := field
	for i, id := range ids {
		if _, twice := (*joined)[id]; twice {
			return fmt.Errorf("%s %d is named twice", field, id)
		}
		(*joined)[id] = ids[0]
		word += string(":+"[min(i, 1)]) + strconv.FormatUint(uint64(id), 10)
	}
	p.Words = append(p.Words, word)
	return nil
}

// isImplied reports whether groups of a field name it already.
func (p *Points) isImplied(field string) bool {
	return slices.ContainsFunc(p.Words, func(word string) bool { return strings.HasPrefix(word, field+":") })
}
