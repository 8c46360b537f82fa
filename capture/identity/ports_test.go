// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/internal/frametest"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// TestPorts compares kernels with walks for tunnels at ports that a user has named: ports with
// equal low bytes, more than the kernels' tables hold, usual ports that are closed or stand for
// other tunnels, and headers of any length.
func TestPorts(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for _, text := range []string{
		"10800=vxlan,5045=vxlan,4533=gtp,4789=none,6081=skip:16",
		"8472=none,4790=vxlan,2152=geneve,1=gtp,2=geneve,3=skip:0,4=skip:8,5=skip:65535,6=mpls,7=lisp,8=jmirror,9=tzsp",
		"1701=none,3544=vxlan,20=l2tp,21=capwap,22=lwapp,23=teredo,24=gue,25=vxlan-gpe,26=teredo,27=capwap,28=l2tp,29=teredo,30=teredo,31=lwapp",
		"4789=none,8472=none,4790=none,6081=none,2152=none,1701=none,4341=none,6635=none,30030=none,37008=none,3544=none,5247=none,12222=none,6080=none",
	} {
		tunnels, err := headers.ParseTunnels(text)
		if err != nil {
			t.Fatal(err)
		}
		var ports []uint16
		for port := range 1 << 16 {
			if usual := (*headers.Tunnels)(nil); tunnels.IsPort(uint16(port)) || usual.IsPort(uint16(port)) {
				ports = append(ports, uint16(port), uint16(port)^0x100)
			}
		}
		var frames [][]byte
		for _, c := range frametest.TunnelCases {
			if c.Outer[0] != 0x45 || c.Outer[9] != iana.ProtoUDP || len(c.Outer) < 28 {
				frames = append(frames, ether4(c.Outer))
				continue
			}
			for range 40 {
				frame, at := ether4(c.Outer), 34+2*random.IntN(4)/3
				binary.BigEndian.PutUint16(frame[at:], ports[random.IntN(len(ports))])
				if random.IntN(4) == 0 {
					frame[34+random.IntN(len(frame)-34)] ^= 1 << random.IntN(8)
				}
				frames = append(frames, frame)
			}
		}
		for _, shape := range plainShapes {
			frames = append(frames, shape.Data)
		}
		random.Shuffle(len(frames), func(i, j int) { frames[i], frames[j] = frames[j], frames[i] })
		b := newBatch(capture.LinkEthernet, frames...)
		for i := range b.Frames {
			if random.IntN(8) == 0 {
				b.Frames[i].CapLen = uint32(random.IntN(int(b.Frames[i].CapLen) + 1))
			}
		}
		for _, kind := range []Kind{L3, Inner} {
			cfg := Config{Kind: kind, Tunnels: tunnels}
			checkFromFrames(t, cfg, b, 0)
			checkDoubts(t, cfg, b)
		}
	}
}
