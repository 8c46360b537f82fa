// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// identities are those whose rules are compared.
var identities = []identity.Config{
	{Kind: identity.L3},
	{Kind: identity.Frame},
	{Kind: identity.Inner},
	{Kind: identity.L3, Ignore: identity.IgnoreAlso(identity.IPID)},
	{Kind: identity.L3, Ignore: identity.IgnoreAlso(identity.L4Checksum)},
	{Kind: identity.L3, Ignore: identity.IgnoreAlso(identity.IPID | identity.TCPSeq)},
	{Kind: identity.Inner, Ignore: identity.IgnoreAlso(identity.NAT)},
	{Kind: identity.L3, Ignore: identity.IgnoreAlso(identity.MSS)},
	{Kind: identity.L3, Ignore: identity.IgnoreAlso(identity.TCPHeader | identity.IPID)},
	{Kind: identity.Frame, Ignore: identity.IgnoreAlso(identity.VLAN | identity.MAC)},
	{Kind: identity.L3, Bytes: 48},
	{Kind: identity.Frame, Ignore: identity.IgnoreAlso(identity.VLAN), Bytes: 60},
}

// TestUndecidable compares both implementations of the rule, for captures that are cut to
// each length.
func TestUndecidable(t *testing.T) {
	names, err := filepath.Glob("../../../../../testdata/pcaps/*.pcap*")
	if err != nil || len(names) < 10 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) { testUndecidable(t, name) })
	}
}

// TestUndecidableShared does so for the shared captures.
func TestUndecidableShared(t *testing.T) {
	dir := os.Getenv("FLOWDEDUP_SHARED")
	if dir == "" {
		dir = "../../../../../../shared/pcaps"
	}
	names, _ := filepath.Glob(filepath.Join(dir, "*.pcap*"))
	hostile, _ := filepath.Glob(filepath.Join(dir, "hostile", "*.pcap*"))
	if len(names) == 0 {
		t.Skipf("no shared captures in %s; FLOWDEDUP_SHARED names their folder", dir)
	}
	for _, name := range append(names, hostile...) {
		t.Run(filepath.Base(name), func(t *testing.T) { testUndecidable(t, name) })
	}
}

func testUndecidable(t *testing.T, name string) {
	src, err := pcapfile.Open(name, pcapfile.Options{})
	if err != nil {
		t.Skip(err)
	}
	const most = 500 // packets, of each capture
	defer src.Close()
	b := new(capture.Batch)
	if err := src.Next(b); err != nil {
		t.Skip(err)
	}
	b.Frames = b.Frames[:min(len(b.Frames), most)]
	cutEach(t, b)
	for i := range b.Frames { // as an anonymizer leaves them
		if d := b.Data(i); len(d) >= 26 {
			d[25] ^= 0x5a // the checksum of IPv4 in plain Ethernet frames
		}
	}
	cutEach(t, b)
}

// TestUndecidableLLDP does so for LLDP, whose last element comes before padding.
func TestUndecidableLLDP(t *testing.T) {
	frame := []byte("\x01\x80\xc2\x00\x00\x0e\x02\x00\x00\x00\x00\x01\x88\xcc\x02\x07\x04\x02\x00\x00\x00\x00\x01\x04\x03\x05et\x06\x02\x00\x78\x00\x00")
	end, plain := uint32(len(frame)), newUndecidable(&identities[0])
	var b capture.Batch
	b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet})
	b.Append(capture.Frame{WireLen: 60}, append(frame, make([]byte, 60-len(frame))...))
	cutEach(t, &b)
	for size := uint32(14); size <= 60; size++ {
		b.Frames[0].CapLen = size
		if got, want := plain.is(&b, 0, &headers.Header{End: size, Wire: 60}), size < end; got != want {
			t.Errorf("%d bytes: undecidable is %v, want %v", size, got, want)
		}
	}
}

// cutEach cuts the packets of a batch to each length.
func cutEach(t *testing.T, b *capture.Batch) {
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

// ruleCheck compares both implementations for an identity.
type ruleCheck struct {
	identity *identity.Identity
	rule     *undecidable
	decoder  *headers.Decoder
}

func newRuleCheck(cfg identity.Config) *ruleCheck {
	return &ruleCheck{identity.New(cfg), newUndecidable(&cfg), headers.NewDecoder(headers.DecoderConfig{Inner: cfg.Kind == identity.Inner})}
}

func (c *ruleCheck) compare(t *testing.T, b *capture.Batch, size uint32) {
	n := len(b.Frames)
	decoded, found := make([]headers.Header, n), make([]bool, n)
	c.decoder.Decode(decoded, b, 0)
	for _, one := range c.identity.FromFrames(make([]headers.Protocol, n), b, 0).Doubts() {
		found[one.Number] = !one.Checksum
	}
	again := make([]bool, n)
	for _, one := range c.identity.FromHeaders(b, 0, decoded).Doubts() {
		again[one.Number] = !one.Checksum
	}
	for i := range decoded {
		h := &decoded[i]
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
