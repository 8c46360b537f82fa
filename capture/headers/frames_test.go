// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"fmt"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/frametest"
)

type (
	linkCase = frametest.LinkCase
	tap      = frametest.Tap
)

// Short names of what frames are built by, and of cases.
var (
	addCases       = frametest.AddCases
	arista         = frametest.Arista
	arpFrame       = frametest.ARPFrame
	batchOf        = frametest.BatchOf
	be16           = frametest.BE16
	benchBatch     = frametest.BenchBatch
	broken4        = frametest.Broken4
	deviceCases    = frametest.DeviceCases
	decode         = frametest.Decode[Header]
	eachBatch      = frametest.EachBatch
	erf            = frametest.ERF
	ether          = frametest.Ether
	generate       = frametest.Generate
	gre4           = frametest.Gre4
	hsr            = frametest.HSR
	ip4            = frametest.IP4
	ip6            = frametest.IP6
	join           = frametest.Join
	linkCases      = frametest.LinkCases
	mac            = frametest.MAC
	macsec         = frametest.Macsec
	newBatch       = frametest.NewBatch
	onEthernet     = frametest.OnEthernet
	packet4        = frametest.Packet4
	packet6        = frametest.Packet6
	padded60       = frametest.Padded60
	perPacket      = frametest.PerPacket
	prp            = frametest.PRP
	qinq           = frametest.Qinq
	sharedCaptures = frametest.SharedCaptures
	snap           = frametest.Snap
	summed         = frametest.Summed
	tcp            = frametest.TCP
	tunnelBatch    = frametest.TunnelBatch
	tunnelCases    = frametest.TunnelCases
	twice          = frametest.Twice
	udp            = frametest.UDP
	udp4           = frametest.UDP4
	udpTunnelCases = frametest.UDPTunnelCases
	vlan           = frametest.VLAN
	wifiFrame      = frametest.WifiFrame
)

// decodeOne decodes a single frame.
func decodeOne(cfg DecoderConfig, link capture.LinkType, data []byte) Header {
	return decode(NewDecoder(cfg), newBatch(link, data))[0]
}

// tail reports whether h delimits the datagram at the end of data.
func tail(h Header, data, datagram []byte) bool {
	return int(h.End) == len(data) && slices.Equal(data[h.Start:h.End], datagram)
}

func BenchmarkDecode(b *testing.B) {
	for _, ipv6 := range []bool{false, true} {
		b.Run(fmt.Sprintf("ipv6=%v", ipv6), func(b *testing.B) {
			batch := benchBatch(80, ipv6)
			h := make([]Header, len(batch.Frames))
			d := NewDecoder(DecoderConfig{})
			for b.Loop() {
				d.Decode(h, batch, 0)
			}
			perPacket(b, len(h))
		})
	}
}
