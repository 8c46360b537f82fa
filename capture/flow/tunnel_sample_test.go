package flow

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
)

// Packets of raw IP, alone and in tunnels.
const (
	plainUDP = "\x45\x00\x00\x1c\x00\x01\x00\x00\x40\x11\x00\x00\x0a\x00\x00\x01\x0a\x00\x00\x02" + "\x00\x05\x00\x06\x00\x08\x00\x00"
	inGRE    = "\x45\x00\x00\x34\x00\x01\x00\x00\x40\x2f\x00\x00\x0a\x00\x00\x01\x0a\x00\x00\x02" + "\x00\x00\x08\x00" + plainUDP
	inIP     = "\x45\x00\x00\x30\x00\x01\x00\x00\x40\x04\x00\x00\x0a\x00\x00\x01\x0a\x00\x00\x02" + plainUDP
)

// batches cuts a stream of packets into batches of random lengths.
func batches(r *rand.Rand, packets []string) (all []*capture.Batch) {
	for len(packets) > 0 {
		b := &capture.Batch{Interfaces: []capture.Interface{{LinkType: capture.LinkRaw}}, Sections: make([]capture.Section, 1)}
		n := min(r.IntN(300), len(packets))
		for _, p := range packets[:n] {
			size := uint32(len(p))
			b.Frames = append(b.Frames, capture.Frame{Data: uint32(len(b.Buf)), CapLen: size, WireLen: size})
			b.Buf = append(b.Buf, p...)
		}
		all, packets = append(all, b), packets[n:]
	}
	return all
}

// TestTunnelSample looks at every packet of a short stream, at every 16th of a long one,
// and does so wherever batches end.
func TestTunnelSample(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{0, 1, 4096, 4097, 60_000} {
		packets := make([]string, n)
		tunnels := 0
		for i := range packets {
			packets[i] = []string{plainUDP, inGRE, inGRE, inIP}[r.IntN(4)]
			if packets[i] != plainUDP {
				tunnels++
			}
		}
		var first *TunnelSample
		for range 3 {
			s := &TunnelSample{}
			for _, b := range batches(r, packets) {
				s.Add(b)
			}
			if first == nil {
				first = s
			}
			if *s != *first {
				t.Fatalf("%d packets: the sample depends on batches", n)
			}
		}
		share, kinds := first.Share()
		if first.seen != uint64(n) || n <= 4096 && share != float64(tunnels)/math.Max(1, float64(n)) {
			t.Errorf("%d packets: share %v of %d", n, share, first.seen)
		}
		if n < 4096 {
			continue
		}
		if math.Abs(share-0.75) > 0.04 || !slices.Equal(kinds, []Tunnel{GRE, IPinIP}) { // five standard errors
			t.Errorf("%d packets: share %v, %v", n, share, kinds)
		}
		for i := range first.n {
			if got, want := first.kinds[i] == NoTunnel, packets[i<<first.shift] == plainUDP; got != want {
				t.Fatalf("%d packets: sample %d is of another packet", n, i)
			}
		}
	}
}
