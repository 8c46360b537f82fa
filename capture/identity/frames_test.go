// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/internal/frametest"
)

// Short names of what frames are built by, and of cases.
var (
	addCases     = frametest.AddCases
	arista       = frametest.Arista
	arp          = frametest.ARP
	arpFrame     = frametest.ARPFrame
	be16         = frametest.BE16
	be32         = frametest.BE32
	benchBatch   = frametest.BenchBatch
	body         = frametest.Body
	checked      = frametest.Checked
	decode       = frametest.Decode[headers.Header]
	deviceCases  = frametest.DeviceCases
	eachBatch    = frametest.EachBatch
	eachCapture  = frametest.EachCapture
	erf          = frametest.ERF
	ether        = frametest.Ether
	ether4       = frametest.Ether4
	ether6       = frametest.Ether6
	goose        = frametest.Goose
	hsr          = frametest.HSR
	inserted     = frametest.Inserted
	ip4          = frametest.IP4
	ip6          = frametest.IP6
	join         = frametest.Join
	le16         = frametest.LE16
	le32         = frametest.LE32
	linkCases    = frametest.LinkCases
	mac          = frametest.MAC
	macsec       = frametest.Macsec
	mixedLinks   = frametest.MixedLinks
	mostlyFast   = frametest.MostlyFast
	nearCopies   = frametest.NearCopies
	newBatch     = frametest.NewBatch
	packet4      = frametest.Packet4
	packet6      = frametest.Packet6
	padded60     = frametest.Padded60
	perPacket    = frametest.PerPacket
	prp          = frametest.PRP
	qinq         = frametest.Qinq
	repeat       = frametest.Repeat
	sized4       = frametest.Sized4
	sized6       = frametest.Sized6
	sll          = frametest.SLL
	sll2         = frametest.SLL2
	smallPackets = frametest.SmallPackets
	snap         = frametest.Snap
	tcp          = frametest.TCP
	tunnelBatch  = frametest.TunnelBatch
	tunnelCases  = frametest.TunnelCases
	twice        = frametest.Twice
	udp4         = frametest.UDP4
	udpSum       = frametest.UDPSum
	vlan         = frametest.VLAN
	wifiFrame    = frametest.WifiFrame
	with         = frametest.With
)

// tap is a frame as a tap has captured it.
type tap frametest.Tap

func onEthernet(name string, data []byte) tap { return tap(frametest.OnEthernet(name, data)) }

// missing returns the tap with n bytes that were not captured.
func (s tap) missing(n int) tap {
	s.Cut = n
	return s
}

func batchOf(taps []tap) *capture.Batch {
	var all []frametest.Tap
	for _, s := range taps {
		all = append(all, frametest.Tap(s))
	}
	return frametest.BatchOf(all)
}
