package flow

import (
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
)

// TestTunnelOf names those tunnels that identity Inner opens, and no others.
func TestTunnelOf(t *testing.T) {
	names := map[string]Tunnel{
		"gre": GRE, "pptp": GRE, "erspan": ERSPAN, "vxlan": VXLAN, "vxlan-gpe": VXLAN, "geneve": GENEVE, "gtp": GTPU,
		"ip": IPinIP, "6": IPinIP, "4": IPinIP, "three": IPinIP,
	}
	for _, c := range tunnelCases {
		want := NoTunnel
		if c.carried != nil {
			first, _, _ := strings.Cut(c.name, " ")
			want = names[strings.TrimSuffix(first, ",")]
		}
		if got := tunnelOf(newBatch(capture.LinkRaw, c.outer), 0); got != want {
			t.Errorf("%s: %v, want %v", c.name, got, want)
		}
		for n := range len(c.outer) {
			tunnelOf(newBatch(capture.LinkRaw, c.outer[:n:n]), 0) // must not read beyond
		}
	}
}
