// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
)

// TestAdvice checks that only flags are advised that are not given and would help.
func TestAdvice(t *testing.T) {
	tagged, placed := traits.SplitCounts{Sampled: 9, Split: 8, Tagged: 7}, traits.SplitCounts{Sampled: 9, Split: 8}
	for _, c := range []struct {
		counts traits.SplitCounts
		inner  bool
		choice Choice
		want   string
	}{
		{traits.SplitCounts{Sampled: 9}, false, Choice{}, ""},
		{placed, false, Choice{}, "--keep flow"},
		{placed, false, Choice{Flow: true}, ""},
		{tagged, false, Choice{}, "--keep flow or --strip vlan"},
		{tagged, false, Choice{Flow: true}, "--strip vlan"},
		{tagged, true, Choice{}, "--keep flow or --strip vlan,tunnel"},
		{tagged, true, Choice{Strip: []string{"mpls", "vlan"}}, "--keep flow or --strip mpls,vlan,tunnel"},
		{tagged, true, Choice{Flow: true, Strip: []string{"vlan", "tunnel"}}, ""},
	} {
		cfg := &Config{Choice: c.choice}
		if c.inner {
			cfg.Identity.Kind = identity.Inner
		}
		n := cfg.conversations(c.counts)
		if got := strings.Join(n.Advice, " or "); got != c.want {
			t.Errorf("%+v: %q, want %q", c, got, c.want)
		}
		if text := n.String(); (text == "") != (c.counts.Split == 0) || !strings.HasSuffix(text, c.want) {
			t.Errorf("%+v: %q", c, text)
		}
	}
}

// TestDigestNoticed checks that --digest highway is suggested only where it takes less time, to runs
// that may choose it and take long enough.
func TestDigestNoticed(t *testing.T) {
	for _, c := range []struct {
		faster    bool
		digest    string
		unchecked *uint64
		packets   uint64
		want      bool
	}{
		{true, "aes", nil, manyPackets, true},
		{false, "aes", nil, manyPackets, false},
		{true, "highway", nil, manyPackets, false},
		{true, "aes", new(uint64), manyPackets, false},
		{true, "aes", nil, manyPackets - 1, false},
	} {
		s := &Summary{Digest: c.digest, Unchecked: c.unchecked}
		s.PacketsIn = c.packets
		var errs strings.Builder
		noticeDigest(&cli.Env{Stderr: &errs}, s, c.faster)
		if got := strings.Contains(errs.String(), "noticed: this CPU has no AES instructions; --digest highway takes less time\n"); got != c.want {
			t.Errorf("%+v: %q", c, errs.String())
		}
	}
}
