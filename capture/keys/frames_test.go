// SPDX-License-Identifier: Apache-2.0

package keys

import (
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/internal/frametest"
)

// Short names of what frames are built by, and of cases.
var (
	addCases       = frametest.AddCases
	arpFrame       = frametest.ARPFrame
	be16           = frametest.BE16
	benchBatch     = frametest.BenchBatch
	body           = frametest.Body
	decode         = frametest.Decode[headers.Header]
	eachBatch      = frametest.EachBatch
	ether          = frametest.Ether
	ether4         = frametest.Ether4
	ether6         = frametest.Ether6
	ip4            = frametest.IP4
	ip6            = frametest.IP6
	join           = frametest.Join
	mixedLinks     = frametest.MixedLinks
	mostlyFast     = frametest.MostlyFast
	nearCopies     = frametest.NearCopies
	newBatch       = frametest.NewBatch
	packet4        = frametest.Packet4
	packet6        = frametest.Packet6
	perPacket      = frametest.PerPacket
	readJSON       = frametest.ReadJSON
	repeat         = frametest.Repeat
	sharedCaptures = frametest.SharedCaptures
	sized4         = frametest.Sized4
	sized6         = frametest.Sized6
	tcp            = frametest.TCP
	tunnelBatch    = frametest.TunnelBatch
	twice          = frametest.Twice
	udp            = frametest.UDP
	udpSum         = frametest.UDPSum
	with           = frametest.With
)
