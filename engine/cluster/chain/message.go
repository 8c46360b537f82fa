// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// ErrMessage is wrapped by the errors of messages between links.
var ErrMessage = errors.New("bad message of a chain")

// The kinds of messages from link to link.
const (
	kindTAS   = 1 + iota // test and set; the state has a bit for each element, 1 if all were set
	kindTest             // test; the state has the value found at each position of each element
	kindSet              // set; the state is elements and their new values
	kindFresh            // no link knows anything of the past: all of them begin anew
	kindProbe            // test as kindTest, for a hub above; the number is how many levels have to hold an element
)

// repeated marks the kind of a request that the first link has received before.
const repeated = 0x80

// version is the version of these messages.
const version = 1

// header is the length of a message's header: "FC", version, kind, the number of lost links
// (u16), the lengths of site and reply (u8 each), a number (u64), and the lengths of the
// request and of the state (u32 each). Behind it are site, reply, request, state and the lost
// links (u16 each). Everything is little-endian.
const header = 24

// maxElements bounds the elements of a request to a chain. It keeps messages, with the
// values found, below the megabyte that servers accept.
const maxElements = 1024

// message is a request or a set on its way through a chain.
type message struct {
	all    []byte // as received, or as sent
	kind   byte
	number uint64 // fencing number of the first link, or number of a set
	site   string
	reply  string
	body   []byte // the site's request
	state  []byte // a part of all
	lost   int    // links whose answers are missing
	again  bool   // the first link has received it before
}

// newMessage makes a message with a state of zeros.
func newMessage(kind byte, number uint64, site, reply string, body []byte, state int) *message {
	le := binary.LittleEndian
	b := make([]byte, 0, header+len(site)+len(reply)+len(body)+state+16)
	b = append(b, 'F', 'C', version, kind, 0, 0, byte(len(site)), byte(len(reply)))
	b = le.AppendUint64(b, number)
	b = le.AppendUint32(b, uint32(len(body)))
	b = le.AppendUint32(b, uint32(state))
	b = append(append(append(b, site...), reply...), body...)
	at := len(b)
	b = b[:at+state]
	return &message{all: b, kind: kind, number: number, site: site, reply: reply, body: b[at-len(body) : at], state: b[at:]}
}

// parse takes a message apart. Errors wrap ErrMessage.
func parse(b []byte) (*message, error) {
	le := binary.LittleEndian
	if len(b) < header || b[0] != 'F' || b[1] != 'C' || b[2] != version {
		return nil, fmt.Errorf("%w: it does not begin as one", ErrMessage)
	}
	m := &message{all: b, kind: b[3] &^ repeated, again: b[3]&repeated != 0, lost: int(le.Uint16(b[4:])), number: le.Uint64(b[8:])}
	site, reply := int64(b[6]), int64(b[7])
	body, state := int64(le.Uint32(b[16:])), int64(le.Uint32(b[20:]))
	if int64(len(b)) != header+site+reply+body+state+2*int64(m.lost) {
		return nil, fmt.Errorf("%w: wrong length", ErrMessage)
	}
	rest := b[header:]
	m.site, rest = string(rest[:site]), rest[site:]
	m.reply, rest = string(rest[:reply]), rest[reply:]
	m.body, m.state = rest[:body], rest[body:body+state]
	return m, nil
}

// addLost adds a link without an answer.
func (m *message) addLost(link int) {
	m.lost++
	m.all = binary.LittleEndian.AppendUint16(m.all, uint16(link))
	binary.LittleEndian.PutUint16(m.all[4:], uint16(m.lost))
}

// repeat marks a request that the first link has received before.
func (m *message) repeat() {
	m.again = true
	m.all[3] |= repeated
}

// lostLinks returns the links without an answer.
func (m *message) lostLinks() (links []int) {
	tail := m.all[len(m.all)-2*m.lost:]
	for i := range m.lost {
		links = append(links, int(binary.LittleEndian.Uint16(tail[2*i:])))
	}
	return links
}

// request decodes the request of a message, and checks the length of the state. Errors
// wrap ErrMessage.
func (m *message) request(r *hubclient.Request, s Shape) error {
	if err := r.Decode(m.body); err != nil {
		return fmt.Errorf("%w: %w", ErrMessage, err)
	}
	if n := len(r.Digests); n > maxElements || len(m.state) != stateBytes(m.kind, n, s) {
		return fmt.Errorf("%w: a state of %d bytes for %d elements", ErrMessage, len(m.state), n)
	}
	return nil
}

// stateBytes returns the length of the state for n elements.
func stateBytes(kind byte, n int, s Shape) int {
	switch {
	case kind == kindTAS:
		return (n + 7) / 8
	case s.Filter == Bloom:
		return (n*s.Hashes + 7) / 8
	}
	return 8 * n * s.Hashes
}

// found stores the value found at a position of an element, counted over all elements.
func (m *message) found(at int, value uint64, timed bool) {
	if timed {
		binary.LittleEndian.PutUint64(m.state[8*at:], value)
	} else if value != 0 {
		m.state[at/8] |= 1 << (at % 8)
	}
}

// value returns the value found.
func (m *message) value(at int, timed bool) uint64 {
	if timed {
		return binary.LittleEndian.Uint64(m.state[8*at:])
	}
	return uint64(m.state[at/8] >> (at % 8) & 1)
}

// setting is an element that is set.
type setting struct{ element, zeroAt uint64 }

const settingBytes = 16

// newSet makes the message that sets elements. Its state begins with the present unit.
func newSet(number, now uint64, all []setting) *message {
	le := binary.LittleEndian
	m := newMessage(kindSet, number, "", "", nil, 8+settingBytes*len(all))
	b := le.AppendUint64(m.state[:0], now)
	for _, s := range all {
		b = le.AppendUint64(le.AppendUint64(b, s.element), s.zeroAt)
	}
	return m
}

// settings returns the elements to set, and the unit of the decision.
func (m *message) settings() (now uint64, all []setting, err error) {
	le := binary.LittleEndian
	if len(m.state) < 8 || (len(m.state)-8)%settingBytes != 0 {
		return 0, nil, fmt.Errorf("%w: a state of %d bytes", ErrMessage, len(m.state))
	}
	now = le.Uint64(m.state)
	all = slices.Grow(all, len(m.state)/settingBytes)
	for b := m.state[8:]; len(b) > 0; b = b[settingBytes:] {
		all = append(all, setting{le.Uint64(b), le.Uint64(b[8:])})
	}
	return now, all, nil
}

// fits reports whether names fit a message.
func fits(site, reply string) bool { return len(site) <= math.MaxUint8 && len(reply) <= math.MaxUint8 }
