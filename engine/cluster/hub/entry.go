// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/flowdedup/flowdedup/engine/cluster/chain"
	"github.com/flowdedup/flowdedup/engine/cluster/slice"
	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// errJournal is wrapped by the errors of journals that cannot be read.
var errJournal = errors.New("bad journal")

// entryVersion begins an entry.
const entryVersion = 1

// entry is a message of a journal: a request, or a message of another link. Its reply names
// the asker. So a restored slice knows the requests whose answers it has forgotten.
//
// It is written as the version (u8), the lengths of site (u8) and reply (u16, little-endian),
// site, reply and message.
type entry struct {
	site  string // empty for a message of another link
	reply string // subject of the answer, empty for a message of another link
	msg   []byte
}

// append appends the entry to dst.
func (e *entry) append(dst []byte) []byte {
	dst = append(dst, entryVersion, byte(len(e.site)))
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(e.reply)))
	return append(append(append(dst, e.site...), e.reply...), e.msg...)
}

// parseEntry parses a message of a journal. Errors wrap errJournal.
func parseEntry(data []byte) (entry, error) {
	if len(data) < 4 {
		return entry{}, fmt.Errorf("%w: an entry is cut", errJournal)
	}
	if data[0] != entryVersion {
		return entry{}, fmt.Errorf("%w: an entry of version %d, want %d: another flowdedup-hub has made it", errJournal, data[0], entryVersion)
	}
	site, reply, rest := int(data[1]), int(binary.LittleEndian.Uint16(data[2:])), data[4:]
	if len(rest) < site+reply {
		return entry{}, fmt.Errorf("%w: an entry is cut", errJournal)
	}
	return entry{string(rest[:site]), string(rest[site : site+reply]), rest[site+reply:]}, nil
}

// apply has a slice take the entry. Requests that it refuses now were refused then, too.
// climbs means that the hub asks a hub above, so that rows record the asker.
func (e *entry) apply(s keeper, climbs bool) error {
	link, chained := s.(*chain.Link)
	if chained && e.site == "" {
		_, err := link.Pass(slices.Clone(e.msg))
		return err
	}
	var r hubclient.Request
	if err := r.Decode(e.msg); err != nil {
		return err
	}
	if chained {
		link.Begin(e.site, e.reply, 0, &r, e.msg)
		return nil
	}
	rows := s.(*slice.Slice)
	if climbs && r.Op == hubclient.TestAndSet {
		rows.Repeated(e.site, e.reply, &r)
	}
	rows.Apply(nil, e.site, &r)
	return nil
}
