// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/flow"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// identities are those whose rules are compared.
var identities = []flow.IdentityConfig{
	{Kind: flow.L3},
	{Kind: flow.Frame},
	{Kind: flow.Inner},
	{Kind: flow.L3, Ignore: flow.IgnoreAlso(flow.IPID)},
	{Kind: flow.L3, Ignore: flow.IgnoreAlso(flow.L4Checksum)},
	{Kind: flow.L3, Ignore: flow.IgnoreAlso(flow.IPID | flow.TCPSeq)},
	{Kind: flow.Inner, Ignore: flow.IgnoreAlso(flow.NAT)},
	{Kind: flow.Frame, Ignore: flow.IgnoreAlso(flow.VLAN | flow.MAC)},
	{Kind: flow.L3, Bytes: 48},
	{Kind: flow.Frame, Ignore: flow.IgnoreAlso(flow.VLAN), Bytes: 60},
}

// TestUndecidable compares both implementations of the rule, for captures that are cut to
// each length.
func TestUndecidable(t *testing.T) {
	names, err := filepath.Glob("../../testdata/pcaps/*.pcap*")
	if err != nil || len(names) < 10 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) { testUndecidable(t, name) })
	}
}

// TestUndecidableShared does so for the shared captures.
func TestUndecidableShared(t *testing.T) { capturetest.EachShared(t, testUndecidable) }

func testUndecidable(t *testing.T, name string) {
	src, err := pcapfile.Open(name, pcapfile.Options{})
	if err != nil {
		t.Skip(err)
	}
	const most = 500 // packets, of each capture
	b, _ := capturetest.SomeBatch(t, src)
	b.Frames = b.Frames[:min(len(b.Frames), most)]
	frames := b.Frames
	for _, cfg := range identities {
		t.Run(fmt.Sprintf("%v %v", cfg.Kind, cfg), func(t *testing.T) {
			c := newRuleCheck(cfg)
			for size := uint32(14); size <= 128 && !t.Failed(); size++ {
				b.Frames = slices.Clone(frames)
				for i := range b.Frames {
					b.Frames[i].CapLen = min(b.Frames[i].CapLen, size)
				}
				c.compare(t, b, size)
			}
		})
	}
}

// ruleCheck compares both implementations for one identity.
type ruleCheck struct {
	identity *flow.Identity
	rule     *undecidable
	decoder  *flow.Decoder
}

func newRuleCheck(cfg flow.IdentityConfig) *ruleCheck {
	return &ruleCheck{flow.NewIdentity(cfg), newUndecidable(&cfg), flow.NewDecoder(flow.DecoderConfig{Inner: cfg.Kind == flow.Inner})}
}

func (c *ruleCheck) compare(t *testing.T, b *capture.Batch, size uint32) {
	n := len(b.Frames)
	headers, found := make([]flow.Header, n), make([]bool, n)
	c.decoder.Decode(headers, b, 0)
	for _, one := range c.identity.FromFrames(make([]flow.Protocol, n), b, 0).Doubts() {
		found[one.Number] = !one.Checksum
	}
	again := make([]bool, n)
	for _, one := range c.identity.FromHeaders(b, 0, headers).Doubts() {
		again[one.Number] = !one.Checksum
	}
	for i := range headers {
		h := &headers[i]
		is := c.rule.is(b, i, h)
		if found[i] != again[i] {
			t.Errorf("packet %d cut to %d: %v without headers, %v with them", i+1, size, found[i], again[i])
		}
		// Of frames without IP this implementation knows few.
		if is != found[i] && (h.Version != 0 || is) {
			t.Fatalf("packet %d cut to %d: %v, want %v: %x", i+1, size, found[i], is, b.Data(i))
		}
	}
}
