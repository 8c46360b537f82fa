package flow

import (
	"fmt"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
)

// benchBatch returns 512 frames of the given size that lie behind each other
// as in a pcap file.
func benchBatch(size int, ipv6 bool) *capture.Batch {
	var frames [][]byte
	for i := range 512 {
		var p []byte
		if ipv6 {
			p = ip6(byte(i), protoUDP, udp(1000+i, 53, make([]byte, max(size-14-40-8, 0))))
		} else {
			p = ip4(byte(i), protoTCP, tcp(1000+i, 80, make([]byte, size-14-20-20)))
		}
		typ := typeIPv4
		if ipv6 {
			typ = typeIPv6
		}
		frames = append(frames, ether(typ, p))
	}
	return newBatch(capture.LinkEthernet, frames...)
}

func perPacket(b *testing.B, packets int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*packets), "ns/packet")
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

func BenchmarkIdentity(b *testing.B) {
	for _, kind := range []IdentityKind{Frame, L3, Inner} {
		for _, size := range []int{64, 1500} {
			b.Run(fmt.Sprintf("kind=%v/size=%d", kind, size), func(b *testing.B) {
				batch := benchBatch(size, false)
				h := make([]Header, len(batch.Frames))
				d := NewDecoder(DecoderConfig{Inner: kind == Inner})
				g := NewIdentity(IdentityConfig{Kind: kind})
				b.SetBytes(int64(len(batch.Buf)))
				for b.Loop() {
					d.Decode(h, batch, 0)
					g.FromHeaders(batch, 0, h)
				}
				perPacket(b, len(h))
			})
		}
	}
}

func BenchmarkKeyer(b *testing.B) {
	for _, of := range []KeyKind{Src, Flow, Biflow, MACs} {
		b.Run("of="+of.String(), func(b *testing.B) {
			batch := benchBatch(64, false)
			h := make([]Header, len(batch.Frames))
			NewDecoder(DecoderConfig{}).Decode(h, batch, 0)
			k := NewKeyer(KeyConfig{Kind: of})
			for b.Loop() {
				k.FromHeaders(batch, 0, h)
			}
			perPacket(b, len(h))
		})
	}
}

// BenchmarkKeyers makes the keys of addresses and flows of the same packets.
func BenchmarkKeyers(b *testing.B) {
	for _, ipv6 := range []bool{false, true} {
		b.Run(fmt.Sprintf("ipv6=%v", ipv6), func(b *testing.B) {
			batch := benchBatch(64, ipv6)
			h := make([]Header, len(batch.Frames))
			NewDecoder(DecoderConfig{}).Decode(h, batch, 0)
			k := NewMultiKeyer([]KeyConfig{{Kind: Src}, {Kind: Dst}, {Kind: Flow}}, DecoderConfig{})
			for b.Loop() {
				k.FromHeaders(batch, 0, h)
			}
			perPacket(b, len(h))
		})
	}
}

// BenchmarkFramesWithoutIP reads frames of relays, with and without tags.
func BenchmarkFramesWithoutIP(b *testing.B) {
	var frames [][]byte
	for i := range 256 {
		frames = append(frames, goose(byte(i)), vlan(goose(byte(i))))
	}
	batch := newBatch(capture.LinkEthernet, frames...)
	g := NewIdentity(IdentityConfig{Kind: L3})
	protocols := make([]Protocol, len(frames))
	for b.Loop() {
		g.FromFrames(protocols, batch, 0)
	}
	perPacket(b, len(frames))
}
