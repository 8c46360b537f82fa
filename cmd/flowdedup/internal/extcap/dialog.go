// SPDX-License-Identifier: Apache-2.0

package extcap

import (
	"fmt"
	"io"
	"strings"
)

// setting is a field of the dialog, and the flag of "flowdedup live" that it sets.
type setting struct {
	flag, display, usual, tip string
	choices                   []choice // none: any text
}

type choice struct{ value, display string }

var settings = []setting{
	{flag: "window", display: "Window", usual: "10ms", tip: "Copies lie within this time of the packet that they copy: 1ms, 10ms, 1s"},
	{flag: "identity", display: "Identity", usual: "l3", tip: "What two packets must have in common to be the same packet", choices: []choice{
		{"l3", "IP datagram (finds copies on other VLANs and behind routers)"},
		{"frame", "whole frame"},
		{"inner", "innermost datagram of tunnels"},
	}},
	{flag: "keep", display: "Keep", usual: "flow", tip: "Which of equal packets is shown", choices: []choice{
		{"flow", "all of a conversation from one VLAN or interface"},
		{"first", "the first"},
	}},
	{flag: "ignore", display: "Ignore", tip: "More fields that copies may differ in: mac, vlan, ip-id, l4-checksum, tcp-seq, nat"},
}

// dialog answers which settings there are.
func dialog(out io.Writer) error {
	var text strings.Builder
	for i, s := range settings {
		kind := "string"
		if len(s.choices) > 0 {
			kind = "selector"
		}
		fmt.Fprintf(&text, "arg {number=%d}{call=--%s}{display=%s}{type=%s}{tooltip=%s}", i, s.flag, s.display, kind, s.tip)
		if s.usual != "" {
			fmt.Fprintf(&text, "{default=%s}", s.usual)
		}
		text.WriteByte('\n')
		for _, c := range s.choices {
			fmt.Fprintf(&text, "value {arg=%d}{value=%s}{display=%s}{default=%t}\n", i, c.value, c.display, c.value == s.usual)
		}
	}
	_, err := io.WriteString(out, text.String())
	return err
}
