// SPDX-License-Identifier: Apache-2.0

package show

import (
	"fmt"
	"strings"

	"github.com/flowdedup/flowdedup/capture/traits"
)

// Conversations says how many conversations of a sample were kept in parts.
type Conversations struct {
	traits.SplitCounts
	Inner bool // tunnels were opened
	// Advice are the flags that would keep conversations whole; empty if none were kept in
	// parts, or no flag is left.
	Advice []string
}

// Tags names the headers that distinguish conversations.
func (n *Conversations) Tags() string {
	if n.Inner {
		return "VLAN or tunnel"
	}
	return "VLAN"
}

// String says how many conversations were kept in parts, with advice. It is empty for none.
func (n *Conversations) String() string {
	if n.Split == 0 {
		return ""
	}
	points := "interface"
	if n.Tagged > 0 {
		points = strings.Replace(n.Tags(), " or ", ", ", 1) + " or interface"
	}
	text := fmt.Sprintf("%s of %s sampled conversations were kept from more than one %s", Count(n.Split), Count(n.Sampled), points)
	if len(n.Advice) > 0 {
		text += ": use " + strings.Join(n.Advice, " or ")
	}
	return text
}
