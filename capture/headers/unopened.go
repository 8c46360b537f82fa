// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flowdedup/flowdedup/capture"
)

// Unopened says why no IP header was looked for in a frame or in a tunnel: its payload is unknown
// here, encrypted, a fragment of the tunnel, or does not look like what the tunnel announces.
// Protocols that are known to carry no IP, such as ARP and LLDP, and frames that end within the
// headers before IP do not count, nor do fragments of IP.
type Unopened struct {
	Number uint32 // the number of Kind: an ethertype or the like
	Kind   uint8  // 0 for all kinds that are not distinguished
}

// Kinds of frames that are not opened, and their numbers.
const (
	unopenedLink      = iota + 1 // a link type, by its number
	unopenedType                 // an ethertype
	unopenedSAP                  // a service access point of 802.2
	unopenedPPP                  // a PPP protocol
	unopenedMPLS                 // the packet below a label stack; no number
	unopenedMACsec               // encrypted frames of 802.1AE; no number
	unopenedWiFi                 // encrypted frames of 802.11; no number
	unopenedTunnel               // a tunnel that was not understood or not believed, by its LayerKind
	unopenedControl              // a message without a packet in it; it does not count
	unopenedNSH                  // a next protocol of the network service header
	unopenedNLPID                // a network layer protocol identifier
	unopenedFragment             // a fragment that a tunnel has made, by its LayerKind
	unopenedMultilink            // a fragment of PPP multilink; no number
	unopenedDTLS                 // an encrypted tunnel, by its LayerKind
)

// unopenedNames have the number of a kind, or with %v the LayerKind that it is.
var unopenedNames = [...]string{
	0: "others", unopenedControl: "others",
	unopenedLink: "linktype-%d", unopenedType: "ethertype-%04x", unopenedSAP: "llc-%02x", unopenedPPP: "ppp-%04x", unopenedMPLS: "mpls",
	unopenedMACsec: "macsec-encrypted", unopenedWiFi: "802.11-encrypted", unopenedTunnel: "%v", unopenedNSH: "nsh-%02x",
	unopenedNLPID: "nlpid-%02x", unopenedFragment: "%v-fragment", unopenedMultilink: "ppp-multilink-fragment", unopenedDTLS: "%v-dtls",
}

// String returns a name such as "ethertype-88b5", "linktype-290" or "macsec-encrypted".
func (u Unopened) String() string {
	name := unopenedNames[0]
	if int(u.Kind) < len(unopenedNames) {
		name = unopenedNames[u.Kind]
	}
	switch {
	case !strings.Contains(name, "%"):
		return name
	case strings.Contains(name, "%v"):
		return fmt.Sprintf(name, LayerKind(u.Number))
	}
	return fmt.Sprintf(name, u.Number)
}

// unknown notes that the walk ends at something that is not known here.
func (w *walk) unknown(kind uint8, number uint32) step {
	w.unopened = Unopened{number, kind}
	return stop
}

// control notes that a header announces no packet.
func (w *walk) control() step { return w.unknown(unopenedControl, 0) }

// Unopened returns the part of frame i of b that was not opened. Decode describes such a frame as
// without IP, or by FlagClosed. It reports false if nothing was left unopened. It panics if b
// has no frame i.
func (d *Decoder) Unopened(b *capture.Batch, i int) (Unopened, bool) {
	f := &b.Frames[i]
	data := b.Data(i)
	if b.Interfaces[f.Interface].LinkType == capture.LinkEthernet && len(data) >= 14 {
		if t := uint16(data[12])<<8 | uint16(data[13]); t > maxLength && plainType(t) {
			return Unopened{}, false
		}
	}
	var h Header
	what := readFrame(&h, b, i, nil).unopened
	if d.inner && h.Version != 0 {
		what = d.tunnels.open(&h, data, f.WireLen, nil)
	}
	return what, what.Kind != 0
}

// maxUnopened is how many kinds of frames that were not opened are counted apart.
const maxUnopened = 32

// UnopenedCounts count frames that were not opened, by their payload. A new kind beyond 32 takes the
// place of the rarest. The zero value is ready for use.
type UnopenedCounts struct {
	kinds  [maxUnopened]UnopenedCount
	used   int
	others uint64 // frames of kinds that were given up
}

// UnopenedCount counts frames that were not opened. What is zero for all other kinds.
type UnopenedCount struct {
	What   Unopened
	Frames uint64
}

// Count adds frames of a kind, or of no kind that is counted apart.
func (c *UnopenedCounts) Count(u Unopened, frames uint64) {
	if u.Kind == 0 {
		c.others += frames
		return
	}
	least := 0
	for i := range c.kinds[:c.used] {
		kind := &c.kinds[i]
		if kind.What == u {
			kind.Frames += frames
			return
		}
		if kind.Frames < c.kinds[least].Frames {
			least = i
		}
	}
	if c.used < maxUnopened {
		c.kinds[c.used] = UnopenedCount{u, frames}
		c.used++
		return
	}
	c.others += c.kinds[least].Frames
	c.kinds[least] = UnopenedCount{u, frames}
}

// Add adds other counts.
func (c *UnopenedCounts) Add(more *UnopenedCounts) {
	for _, kind := range more.kinds[:more.used] {
		c.Count(kind.What, kind.Frames)
	}
	c.others += more.others
}

// List returns the counts, from which Count makes them again.
func (c *UnopenedCounts) List() []UnopenedCount {
	all := slices.Clone(c.kinds[:c.used])
	if c.others > 0 {
		all = append(all, UnopenedCount{Frames: c.others})
	}
	return all
}

// ByName returns the counts by name, with "others" for kinds that were given up. It is nil
// without any.
func (c *UnopenedCounts) ByName() map[string]uint64 {
	var all map[string]uint64
	for _, kind := range c.List() {
		if all == nil {
			all = map[string]uint64{}
		}
		all[kind.What.String()] += kind.Frames
	}
	return all
}
