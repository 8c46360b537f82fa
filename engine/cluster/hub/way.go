// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// treeID returns the identity of a hub in a tree, and of all that share its slices: they have the
// same key.
func treeID(seed []byte) uint64 {
	sum := sha256.Sum256(append([]byte("flowdedup hub "), seed...))
	return binary.LittleEndian.Uint64(sum[:]) >> (64 - hubclient.DigestBits)
}

// CheckParent checks that the hub above is not the hub of the folder. Errors wrap ErrParent.
func (f *Folder) CheckParent(s *Settings) error {
	if s.Parent == "" {
		return nil
	}
	token, err := hubclient.DecodeToken(s.Parent)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrParent, err)
	}
	seed, err := f.seed(siteFile(token.Site), false)
	if err == nil && string(seed) == token.Seed {
		return fmt.Errorf("%w: the token of %s is one of this hub, or of a copy of its folder: a hub cannot be its own parent", ErrParent, token.Site)
	}
	return nil
}

// way answers a hub below whether the way up ends. It passes the question on. The owner is locked.
func (o *owner) way(site string, through []uint64) hubclient.Status {
	p := o.hub.parent
	switch {
	case hubclient.ComesBack(through, o.hub.treeID):
		return hubclient.Ring
	case p == nil:
		o.bits = append(o.bits, make([]byte, (len(o.request.Digests)+7)/8)...)
		return hubclient.OK
	}
	reply := hubclient.Reply{Seq: o.request.Seq, Epoch: o.hub.settings.Epoch, Fencing: o.fence}
	to := o.reply
	o.silent = true
	p.client.AskWay(slices.Clone(through), func(status hubclient.Status) {
		reply.Status = status
		o.hub.siteConns.publish(site, to, reply.Append(nil))
	})
	return later
}
