// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"cmp"
	"math"
	"time"

	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// TreeStatus describes the tree as this hub sees it: the elements known here, and the
// answers of the hub above. Counts begin with the process.
type TreeStatus struct {
	Parent  string `json:"parent"` // the address of the hub above
	Site    string `json:"site"`   // the name of this hub there
	Sparse  bool   `json:"sparse"` // new elements are set once the hub above has reported them new
	Closed  bool   `json:"closed"` // elements that the hub above does not answer for count as copies now
	Failure string `json:"failed,omitempty"`
	// Digests were tested here. Hits of them were known here, and the hub above was asked about
	// the rest. It knew HitsAbove of them, and did not answer for Unchecked.
	Digests   uint64 `json:"digests"`
	Hits      uint64 `json:"hits"`
	Asked     uint64 `json:"asked"`
	HitsAbove uint64 `json:"hits_above"`
	Unchecked uint64 `json:"unchecked"`
	// Accesses are as Table 1 of KNPS counts them: tests, which in a dense tree set too, and in a
	// sparse one sets. Probes of them are tests for the hub above, which asks for confirmation.
	Accesses uint64 `json:"accesses"`
	Probes   uint64 `json:"probes"`
	Messages uint64 `json:"messages"` // to the hub above
	Bytes    uint64 `json:"message_bytes"`
	// 99 % of the recent answers of the hub above came within AnswerP99.
	AnswerP99 time.Duration `json:"answer_p99_ns"`
	// For each digest that was tested here: requests to the hub above and their bits, as they
	// are, and in theory: a message of k log2(m) bits for each digest that is new here, where rows
	// count as their digests.
	PerDigest  float64 `json:"messages_per_digest"`
	Bits       float64 `json:"bits_per_digest"`
	TheoryMsgs float64 `json:"theory_messages_per_digest"`
	TheoryBits float64 `json:"theory_bits_per_digest"`
	// FPR predicts the share of new packets that count as copies at this level. By
	// Propositions 3 and 4 the tree adds none to those of the filter at its root, if all
	// filters have its size and functions.
	FPR float64 `json:"predicted_fpr"`
}

// tree describes the tree. It is nil without a tree.
func (h *Hub) tree() *TreeStatus {
	p := h.parent
	if p == nil {
		return nil
	}
	st := &TreeStatus{
		Parent: p.token.URL, Site: p.token.Site, Sparse: p.sparse, Closed: p.client.Assumes(), Failure: p.client.Failing(),
		Digests: p.digests.Load(), Hits: p.hits.Load(), Asked: p.asked.Load(), HitsAbove: p.hitsAbove.Load(),
		Unchecked: p.unchecked.Load(), Messages: p.messages.Load(), Bytes: p.bytes.Load(),
		AnswerP99: p.client.Stats().DelayP99,
	}
	st.Probes = p.probes.Load()
	st.Accesses = st.Digests + p.sets.Load() + st.Probes
	return st
}

// TopDownStatus describes the top-down testing of a hub. Counts begin with the process.
type TopDownStatus struct {
	Levels int      `json:"levels"` // how many levels below have to hold a copy
	Below  []string `json:"below"`
	Mixed  bool     `json:"mixed"` // a site has asked that is no hub, so copies are not confirmed any more
	// Probed are the copies that the hubs below were asked about. Unconfirmed of them are new, as
	// none of these hubs holds them. Unanswered elements stay copies.
	Probed      uint64 `json:"probed"`
	Unconfirmed uint64 `json:"unconfirmed"`
	Unanswered  uint64 `json:"unanswered"`
}

// status describes the top-down testing, nil without hubs below.
func (b *below) status() *TopDownStatus {
	if b == nil {
		return nil
	}
	return &TopDownStatus{
		Levels: b.hub.settings.TopDown, Below: b.names, Mixed: b.mixed.Load(),
		Probed: b.probed.Load(), Unconfirmed: b.unconfirmed.Load(), Unanswered: b.unanswered.Load(),
	}
}

// describeTopDown adds the parts of hubs that share slices.
func describeTopDown(parts []part) *TopDownStatus {
	var st *TopDownStatus
	for _, p := range parts {
		switch one := p.TopDown; {
		case one == nil:
		case st == nil:
			first := *one
			st = &first
		default:
			st.Mixed = st.Mixed || one.Mixed
			st.Probed += one.Probed
			st.Unconfirmed += one.Unconfirmed
			st.Unanswered += one.Unanswered
		}
	}
	return st
}

// describeTree adds the parts of hubs that share slices.
func describeTree(s *Settings, parts []part, fpr float64) *TreeStatus {
	var st *TreeStatus
	for _, p := range parts {
		one := p.Tree
		switch {
		case one == nil:
		case st == nil:
			first := *one
			st = &first
		default:
			st.Failure = cmp.Or(st.Failure, one.Failure)
			st.Digests += one.Digests
			st.Hits += one.Hits
			st.Asked += one.Asked
			st.HitsAbove += one.HitsAbove
			st.Unchecked += one.Unchecked
			st.Accesses += one.Accesses
			st.Probes += one.Probes
			st.Messages += one.Messages
			st.Bytes += one.Bytes
			st.AnswerP99 = max(st.AnswerP99, one.AnswerP99)
		}
	}
	if st == nil || st.Digests == 0 {
		return st
	}
	n, bits := float64(st.Digests), float64(hubclient.DigestBits)
	if !s.Shape.Rows() {
		bits = float64(s.Shape.Hashes) * math.Log2(float64(s.Shape.Size()*s.Shape.Links()))
	}
	st.FPR = fpr
	st.PerDigest, st.Bits = float64(st.Messages)/n, 8*float64(st.Bytes)/n
	st.TheoryMsgs = float64(st.Asked) / n
	st.TheoryBits = st.TheoryMsgs * bits
	return st
}
