// SPDX-License-Identifier: Apache-2.0

package hubclient

import (
	"encoding/binary"
	"strconv"
	"strings"
	"time"
)

// A bundle is one message with requests to several slices, or with their answers. Few digests for
// each of many slices so cost one message instead of one a slice. All hubs of a filter receive a
// bundle, and each answers the parts for its slices in one bundle, or in single messages if it
// answers later. A part that gets no answer is sent again as a message of its own. So hubs that
// know no bundles, or have just lost a slice, lose no packet.
//
// A part is the slice (u16), the length of a message (u32), and the message of Request or Reply. The
// slices of a bundle rise.

// allSlices is the Slice of the subject of a bundle.
const allSlices = -1

// bundleWord stands for the slice in the subjects of bundles, and Bundles are the words of slice and
// operation, with a wildcard.
const (
	bundleWord = "all"
	Bundles    = bundleWord + ".*"
)

// partHeader is the length of the header of a part, in bytes.
const partHeader = 6

const (
	// maxBundle is the length, in bytes, from which a bundle takes no more parts. A part is shorter
	// than thinDigests times 12 bytes.
	maxBundle = 256 << 10
	// missedAfter is the number of bundles in a row that a slice did not answer after which its
	// requests are sent singly for singleTime.
	missedAfter = 3
	singleTime  = 10 * time.Second
)

// AppendPart appends a part of a bundle to dst.
func AppendPart(dst []byte, slice int, msg []byte) []byte {
	dst = binary.LittleEndian.AppendUint16(dst, uint16(slice))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(msg)))
	return append(dst, msg...)
}

// Parts calls part for each part of a bundle. It reports false, after the parts before, if the rest
// is no bundle.
func Parts(bundle []byte, part func(slice int, msg []byte)) bool {
	for last := -1; len(bundle) > 0; {
		if len(bundle) < partHeader {
			return false
		}
		slice, n := int(binary.LittleEndian.Uint16(bundle)), uint64(binary.LittleEndian.Uint32(bundle[2:]))
		bundle = bundle[partHeader:]
		if slice <= last || n > uint64(len(bundle)) {
			return false
		}
		part(slice, bundle[:n:n])
		last, bundle = slice, bundle[n:]
	}
	return true
}

// PartReply returns the subject of the answer to a part that is answered singly, as if the request
// had come so. reply is the subject of the answer to the bundle.
func PartReply(reply string, slice int, seq uint64) string {
	text := append(make([]byte, 0, len(reply)+24), strings.TrimSuffix(reply, bundleWord)...)
	text = strconv.AppendInt(text, int64(slice), 10)
	return string(strconv.AppendUint(append(text, '.'), seq, 10))
}

// bundles reports whether few digests for the slice go in bundles.
func (s *slice) bundles(now time.Duration) bool { return now >= s.singleUntil }

// missed notes that a slice has not answered a bundle in time.
func (s *slice) missed(now time.Duration) {
	if s.misses++; s.misses >= missedAfter {
		s.singleUntil = now + singleTime
	}
}

// pack adds a request to the next bundle.
func (c *Client) pack(s *slice, r *request, now time.Duration) {
	if s.number < c.packed || len(c.bundle) > maxBundle {
		c.post(now)
	}
	c.bundle = AppendPart(c.bundle, s.number, c.encode(r))
	c.packed = s.number + 1
}

// post sends the bundle, if there is any.
func (c *Client) post(now time.Duration) {
	if len(c.bundle) == 0 {
		return
	}
	err := c.to.Send(c.bundleSubject, c.inbox+bundleWord, c.bundle)
	c.bundle, c.packed = c.bundle[:0], 0
	if err != nil {
		c.unbundle(now)
	}
}

// unbundle has the requests of bundles that nobody has taken be sent again, singly.
func (c *Client) unbundle(now time.Duration) {
	for i := range c.slices {
		for _, r := range c.slices[i].flight {
			if r.bundled {
				r.bundled = false
				c.again(r, now)
			}
		}
	}
}

// receiveBundle takes the answers to a bundle. refused means that no hub knows bundles.
func (c *Client) receiveBundle(msg []byte, refused bool, now time.Duration) {
	if refused {
		for i := range c.slices {
			c.slices[i].singleUntil = now + singleTime
		}
		c.unbundle(now)
		return
	}
	Parts(msg, func(number int, part []byte) {
		if number < len(c.slices) && len(part) >= replyHeader {
			c.receivePart(&c.slices[number], binary.LittleEndian.Uint64(part[8:]), part, false, now)
		}
	})
}
