// SPDX-License-Identifier: Apache-2.0

package traits

import (
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/internal/frametest"
)

const label = frametest.Label

// Short names of what frames are built by, and of cases.
var (
	arpFrame     = frametest.ARPFrame
	be16         = frametest.BE16
	be32         = frametest.BE32
	decode       = frametest.Decode[headers.Header]
	eoip         = frametest.Eoip
	ether        = frametest.Ether
	generate     = frametest.Generate
	goose        = frametest.Goose
	gre4         = frametest.Gre4
	hsr          = frametest.HSR
	inserted     = frametest.Inserted
	ip4          = frametest.IP4
	ip6          = frametest.IP6
	join         = frametest.Join
	l2tp         = frametest.L2tp
	lispWith     = frametest.LispWith
	mac          = frametest.MAC
	newBatch     = frametest.NewBatch
	over4        = frametest.Over4
	packet4      = frametest.Packet4
	packet6      = frametest.Packet6
	perPacket    = frametest.PerPacket
	prp          = frametest.PRP
	qinq         = frametest.Qinq
	sll2         = frametest.SLL2
	smallPackets = frametest.SmallPackets
	tcp          = frametest.TCP
	tunnelCases  = frametest.TunnelCases
	udp          = frametest.UDP
	udp4         = frametest.UDP4
	vlan         = frametest.VLAN
	with         = frametest.With
)
