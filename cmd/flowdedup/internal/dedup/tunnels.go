package dedup

import (
	"slices"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/flow"
)

// tunnelSample tells in what packets travel, from some of them at equal distances:
// every packet at first, every second one once the sample is full, and so on. It
// depends on the stream alone, and decodes some thousand packets more each time that
// the stream doubles.
type tunnelSample struct {
	kinds [4096]flow.Tunnel
	n     int
	shift uint   // log2 of the distance
	seen  uint64 // packets
}

// packets takes its part of the next packets of the stream.
func (s *tunnelSample) packets(b *capture.Batch) {
	end := s.seen + uint64(len(b.Frames))
	for {
		at := uint64(s.n) << s.shift
		if at >= end {
			break
		}
		if s.n == len(s.kinds) {
			s.thin()
		}
		s.kinds[s.n] = flow.TunnelOf(b, int(at-s.seen))
		s.n++
	}
	s.seen = end
}

// thin drops every second packet of the sample.
func (s *tunnelSample) thin() {
	s.n /= 2
	for i := range s.n {
		s.kinds[i] = s.kinds[2*i]
	}
	s.shift++
}

// share returns the share of packets that travel in tunnels, and in which, the most
// frequent one first.
func (s *tunnelSample) share() (share float64, kinds []flow.Tunnel) {
	var counts [flow.Tunnels]int
	for _, k := range s.kinds[:s.n] {
		counts[k]++
	}
	if s.n == 0 || counts[flow.NoTunnel] == s.n {
		return 0, nil
	}
	for k := flow.NoTunnel + 1; int(k) < flow.Tunnels; k++ {
		if counts[k] > 0 {
			kinds = append(kinds, k)
		}
	}
	slices.SortStableFunc(kinds, func(a, b flow.Tunnel) int { return counts[b] - counts[a] })
	return 1 - float64(counts[flow.NoTunnel])/float64(s.n), kinds
}
