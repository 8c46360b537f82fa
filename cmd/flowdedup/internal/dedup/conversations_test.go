// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/traits"
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
