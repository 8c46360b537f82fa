// SPDX-License-Identifier: Apache-2.0

package traits

import (
	"testing"

	"github.com/flowdedup/flowdedup/capture"
)

// TestNamesOfInputs names a point by its input only if there are several, and the interface has not
// the input's name.
func TestNamesOfInputs(t *testing.T) {
	for _, c := range []struct {
		inputs       []string
		device, want string
	}{
		{nil, "eth1", "eth1 VLAN 10"},
		{[]string{"/x/a.pcap"}, "eth1", "eth1 VLAN 10"},
		{[]string{"/x/a.pcap", "/x/b.pcap"}, "eth1", "a.pcap eth1 VLAN 10"},
		{[]string{"eth1", "eth2"}, "eth1", "eth1 VLAN 10"},
		{[]string{"/x/a.pcap", "/x/b.pcap"}, "", "a.pcap VLAN 10"},
	} {
		b := newBatch(capture.LinkEthernet, tagged(0x8100_000a))
		b.Sections, b.Interfaces[0].Name = []capture.Section{{}}, c.device
		names := NewNames(c.inputs, nil)
		if got := names.Name(names.Number(1, b, 0)); got != c.want {
			t.Errorf("%q, interface %q: %q, want %q", c.inputs, c.device, got, c.want)
		}
	}
}
