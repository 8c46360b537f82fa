// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/flowdedup/flowdedup/capture/identity"
)

// Recommendation says which de-duplication fits a stream.
type Recommendation struct {
	Dedup    bool
	Identity identity.Kind
	// IdentityBytes is how many bytes are compared; 0 means all.
	IdentityBytes int
	Ignore        []string
	Window        time.Duration
	Across        bool
	Keep          string // "first" or "flow"
	Strip         []string
	// Prefer is an expression for the copies to keep, empty if it does not matter or is unknown.
	Prefer string
	// Removes is how many packets of the stream that removes. Wrong of them are no copies.
	// Looped of these are in loops. Left counts copies that it leaves, since they come later than the
	// window.
	Removes, Wrong, Looped, Left uint64
	// Resummed is how many more packets --ignore l4-checksum removes that are no copies. Removes and
	// Wrong have them if it is among Ignore.
	Resummed uint64
	// Doubtful of Removes are known only by a checksum, or with Across only by their other point. Without Across, --ignore l4-checksum leaves them.
	Doubtful uint64
	// Reasons has a sentence for each choice, none without packets.
	Reasons []string
}

const (
	// fewCopies is the share of packets below which removing copies is not worth it.
	fewCopies = 0.001
	// fewLate is the share of copies that a longer window would have to find.
	fewLate = 0.002
	// fewSplit is the share of conversations that may be kept from several points. Few are
	// on any network: hosts move, and ports are used again.
	fewSplit = 0.01
)

// recommend chooses. r has all but the recommendation.
func (n *Inspector) recommend(m *measure, j *judgement, r *Report) Recommendation {
	c := Recommendation{Keep: "first", Window: time.Duration(n.windows[0]), Ignore: []string{}, Strip: []string{}}
	_, rewrapped := j.copies()
	unmatched := m.unmatched + rewrapped
	if unmatched > 0 {
		c.Identity = identity.Inner
	}
	if m.checksums > 0 {
		c.Ignore = append(c.Ignore, "l4-checksum")
	}
	if m.clamped > 0 {
		c.Ignore = append(c.Ignore, "mss")
	}
	c.Ignore = append(c.Ignore, m.ignore...)
	c.IdentityBytes = m.bytes
	w := n.window(m, j, r)
	across := 0
	if c.Across = n.across(m, j, r, w); c.Across {
		across = 1
	}
	c.Window = time.Duration(n.windows[w])
	c.Removes, c.Wrong, c.Looped = m.removed[w][across], j.wrong(w, across), j.looped(w, across)
	if len(m.ignore) == 0 { // else a trial has counted them
		c.Resummed = m.resummed[w][across]
	}
	if m.checksums > 0 {
		c.Removes, c.Wrong = c.Removes+c.Resummed, c.Wrong+c.Resummed
	}
	if across == 1 || m.checksums == 0 && len(m.ignore) == 0 {
		c.Doubtful = m.doubtful[w][across]
		c.Removes += c.Doubtful
	}
	for span := w + 1; span < windows; span++ {
		c.Left += m.delayed[span] + j.at(span)
	}
	c.Dedup = r.Copies > 0 && float64(r.Copies) >= fewCopies*float64(r.Packets) && c.removesCopies()
	if c.Dedup && float64(r.SplitConversations) > fewSplit*float64(r.SampledConversations) {
		c.Keep = "flow"
	}
	if c.Dedup && (n.oneWayTags(&r.Sides) || n.manyStacked()) {
		c.Strip = append(c.Strip, "vlan")
	}
	if c.Dedup && 2*n.stream.stamped > n.stream.described {
		c.Strip = append(c.Strip, "arista")
	}
	if c.Keep == "flow" && c.Identity == identity.Inner && m.checksums > 0 {
		c.Strip = append(c.Strip, "tunnel")
	}
	if c.Dedup {
		c.Prefer = preferred(m.outer)
	}
	c.Reasons = n.reasons(&c, m, unmatched, r)
	return c
}

// removesCopies reports whether most removed packets are copies. Loops do not count: they end.
func (c *Recommendation) removesCopies() bool {
	return c.Removes-c.Doubtful-c.Looped > 2*(c.Wrong-c.Looped)
}

// at counts identical copies by delay.
func (j *judgement) at(span int) (sum uint64) {
	for sort := range j.same {
		if j.isCopy(sort, span) {
			sum += j.same[sort][span].all
		}
	}
	return sum
}

// window returns the number of the shortest window that finds nearly as many copies as the best
// window. Removed packets that are no copies count against a window.
func (n *Inspector) window(m *measure, j *judgement, r *Report) int {
	var gains [windows]float64
	found, best := uint64(0), 0.0
	for w := range windows {
		found += m.delayed[w] + j.at(w)
		gains[w] = float64(found) - float64(j.wrong(w, 0)-j.looped(w, 0))
		best = max(best, gains[w])
	}
	for w, gain := range gains {
		if gain >= best-fewLate*float64(r.Copies) {
			return w
		}
	}
	return windows - 1
}

// across reports whether all copies are at other interfaces, and a filter that looks at all interfaces
// would remove packets that are no copies.
func (n *Inspector) across(m *measure, j *judgement, r *Report, w int) bool {
	return r.Copies > 0 && m.foreign == r.Copies && j.wrong(w, 0) > 0 && m.removed[w][1]+j.wrong(w, 0) >= m.removed[w][0]
}

// oneWayTags reports whether each direction of most conversations has VLAN tags of its own, so
// that an analyzer that keys flows by tags sees one side of a conversation, whatever is kept.
func (n *Inspector) oneWayTags(s *OneSided) bool {
	return s.BeforeByTag.Share() > s.Before.Share()+0.5 && 2*n.stream.tagged > n.stream.packets && 2*n.stream.tunneled < n.stream.packets
}

// manyStacked reports whether enough packets have tags of 802.1ad to mention them.
func (n *Inspector) manyStacked() bool {
	return n.stream.stacked > 0 && float64(n.stream.stacked) >= fewCopies*float64(n.stream.packets)
}

// reasons are sentences.
type reasons []string

// add adds a reason if it holds.
func (all *reasons) add(holds bool, format string, args ...any) {
	if holds {
		*all = append(*all, fmt.Sprintf(format, args...))
	}
}

// reasons explains the recommendation.
func (n *Inspector) reasons(c *Recommendation, m *measure, unmatched uint64, r *Report) []string {
	all := reasons{}
	all.add(r.Looped > 0 && c.Dedup, "%d packets go in circles: de-duplication hides that, so find the loop or the sender first", r.Looped)
	all.add(len(r.Unopened) > 0 && !c.Dedup, "packets that were not opened are copies here only if they differ in nothing")
	all.add(r.Undecidable > 0, "%d packets were truncated too short to distinguish copies from other packets: capture more of each", r.Undecidable)
	all.add(r.ChecksumOnly > 0, "%d equal packets are known only by a checksum of 16 bits, and do not count", r.ChecksumOnly)
	switch {
	case r.Packets == 0:
		return all
	case c.Dedup:
		return append(all, n.reasonsOfFlags(c, m, unmatched, r)...)
	case r.Copies == 0 && r.Equal == 0 && r.Undecidable+r.ChecksumOnly > 0:
		all.add(true, "no other packet equals another one within %v", r.Window)
	case r.Copies == 0 && r.Equal == 0:
		all.add(true, "no packet equals another one within %v", r.Window)
	case r.Copies == 0 && r.Looped == r.Equal:
		all.add(true, "the network repeats packets, and no mirror does: find the loop or the sender")
	case r.Copies == 0:
		all.add(true, "all equal packets were sent again at one point: removing them would remove packets that their senders repeated")
	case !c.removesCopies():
		all.add(true, "of the %d packets that would be removed, %d are no copies", c.Removes, c.Wrong)
	case r.Copies == 1:
		all.add(true, "1 copy in %d packets is too few to matter", r.Packets)
	default:
		all.add(true, "%d copies in %d packets are too few to matter", r.Copies, r.Packets)
	}
	return all
}

// reasonsOfFlags explains the flags of the recommended command.
func (n *Inspector) reasonsOfFlags(c *Recommendation, m *measure, unmatched uint64, r *Report) []string {
	var all reasons
	all.add(c.Identity == identity.Inner, "--identity inner: %d copies differ in or around a tunnel", unmatched)
	all.add(c.Identity != identity.Inner, "--identity %s: it finds all copies, and tunnels make no difference", c.Identity)
	all.add(m.checksums > 0, "--ignore l4-checksum: %d copies differ in checksums that a network card fills in; packets with right ones stay", m.checksums)
	all.add(m.clamped > 0, "--ignore mss: %d copies differ in the maximum segment size, which a router lowers, and in the checksum over it", m.clamped)
	ignored := strings.Join(m.ignore, ",")
	all.add(m.translated > 0, "--ignore %s: %d packets equal earlier ones but for addresses that a translation replaced", ignored, m.translated)
	all.add(m.translated > 0, "%s", sideOf(c.Prefer))
	all.add(m.relayed > 0, "--ignore %s: %d packets equal earlier ones between other addresses: a relay sent them on, or a second line has them", ignored, m.relayed)
	all.add(c.IdentityBytes > 0, "--identity-bytes %d: copies were captured in different lengths; packets that differ only behind these bytes count as equal", c.IdentityBytes)
	all.add(true, "--window %v: %s", c.Window, lateness(c.Left))
	all.add(c.Across, "--across: all copies come from another %s, and packets that were sent again at one stay", m.paths.or("interface"))
	all.add(c.Keep == "flow", "--keep flow, the default for written packets: keeping the first of equal packets would split %d of %d sampled conversations", r.SplitConversations, r.SampledConversations)
	all.add(slices.Contains(c.Strip, "arista"), "--strip arista: most packets have the time header of a switch, which few analyzers read")
	all.add(slices.Contains(c.Strip, "tunnel"), "--strip tunnel: packets with the right checksums are those of the receiving end, so each direction has a tunnel of its own")
	all.add(slices.Contains(c.Strip, "vlan") && n.manyStacked(), "--strip vlan: %d packets have tags of 802.1ad, behind which some analyzers find nothing", n.stream.stacked)
	all.add(slices.Contains(c.Strip, "vlan") && n.oneWayTags(&r.Sides), "--strip vlan: each direction has a VLAN of its own, so analyzers that key flows by VLAN see one side of each")
	return all
}

// preferred returns an expression for the packets without any of these addresses.
func preferred(outer []netip.Addr) string {
	var hosts []string
	for _, a := range outer {
		hosts = append(hosts, "host "+a.String())
	}
	switch len(hosts) {
	case 0:
		return ""
	case 1:
		return "not " + hosts[0]
	}
	return "not (" + strings.Join(hosts, " or ") + ")"
}

// sideOf explains which side of a translation is kept.
func sideOf(prefer string) string {
	if prefer == "" {
		return "each direction is first seen on its own side of the translation: give --prefer for one side, or conversations are kept in halves"
	}
	return fmt.Sprintf("--prefer '%s': it keeps both directions of each conversation from one side of the translation", prefer)
}

func lateness(left uint64) string {
	if left == 0 {
		return "no copy comes later"
	}
	return fmt.Sprintf("%d copies come later and stay", left)
}

// compareProtocols orders protocols by number.
func compareProtocols(a, b protocolKey) int {
	return cmp.Or(cmp.Compare(a.proto, b.proto), cmp.Compare(a.ether, b.ether))
}
