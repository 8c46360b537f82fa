// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// benchBatch returns 512 frames of the given size, one behind the other as in a pcap
// file.
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
			k := NewKeyer([]KeyConfig{{Kind: of}}, DecoderConfig{})
			for b.Loop() {
				k.FromHeaders(batch, 0, h)
			}
			perPacket(b, len(h))
		})
	}
}

// BenchmarkKeyerFromFrames decodes packets and makes keys of three kinds.
func BenchmarkKeyerFromFrames(b *testing.B) {
	for _, ipv6 := range []bool{false, true} {
		b.Run(fmt.Sprintf("ipv6=%v", ipv6), func(b *testing.B) {
			batch := benchBatch(64, ipv6)
			k := NewKeyer([]KeyConfig{{Kind: Src}, {Kind: Dst}, {Kind: Flow}}, DecoderConfig{})
			for b.Loop() {
				k.FromFrames(batch, 0, len(batch.Frames))
			}
			perPacket(b, len(batch.Frames))
		})
	}
}

// BenchmarkLinks lays out datagrams behind other headers than Ethernet's.
func BenchmarkLinks(b *testing.B) {
	sll2 := join(be16(typeIPv4), "\x00\x00\x00\x00\x00\x02\x00\x01\x00\x06", mac(1), "\x00\x00")
	for _, c := range []struct {
		name   string
		link   capture.LinkType
		before []byte
	}{
		{"sll2", capture.LinkLinuxSLL2, sll2},
		{"raw", capture.LinkRaw, nil},
		{"mpls", capture.LinkEthernet, ether(typeMPLS, []byte("\x00\x01\x01\x40"))},
		{"pppoe", capture.LinkEthernet, ether(typePPPoE, join("\x11\x00\x00\x01\x00\x34", be16(pppIPv4)))},
		{"ciscohdlc", capture.LinkCHDLC, join("\x0f\x00", be16(typeIPv4))},
	} {
		b.Run("link="+c.name, func(b *testing.B) {
			var frames [][]byte
			for i := range 512 {
				frames = append(frames, join(c.before, ip4(byte(i), protoTCP, tcp(1000+i, 80, make([]byte, 10)))))
			}
			batch := newBatch(c.link, frames...)
			g := NewIdentity(IdentityConfig{Kind: L3})
			protocols := make([]Protocol, len(frames))
			for b.Loop() {
				g.FromFrames(protocols, batch, 0)
			}
			perPacket(b, len(frames))
		})
	}
}

// BenchmarkFramesWithoutIP reads frames of protection relays, with and without tags.
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

// smallPackets returns a pcap file of n frames of 64 bytes, or more where IPv6 and VLAN
// tags need it. A fifth is IPv6 and one in forty is tagged, in random order.
func smallPackets(n int) []byte {
	r := rand.New(rand.NewPCG(5, 6))
	le := binary.LittleEndian
	out := join("\xd4\xc3\xb2\xa1\x02\x00\x04\x00", make([]byte, 8), le32(1<<16), le32(1))
	for i := range n {
		seed := byte(r.Uint32())
		typ, ip := typeIPv4, ip4(seed, protoTCP, tcp(1000+i%5000, 80, make([]byte, 10)))
		switch r.IntN(10) {
		case 0, 1:
			typ, ip = typeIPv6, ip6(seed, protoTCP, tcp(1000+i%5000, 80, nil))
		case 2, 3:
			ip = ip4(seed, protoUDP, udp(1000+i%5000, 53, make([]byte, 22)))
		}
		data := ether(typ, ip)
		if r.IntN(40) == 0 {
			data = ether(typeVLAN, join(be16(100), be16(typ), ip))
		}
		for _, v := range []int{i / 1e6, i % 1e6, len(data), len(data)} {
			out = le.AppendUint32(out, uint32(v))
		}
		out = append(out, data...)
	}
	return out
}

// BenchmarkChunks does what pipelines do with each chunk of a file: it finds the records,
// then decodes them or reads their identities, which it may digest.
func BenchmarkChunks(b *testing.B) {
	const packets, step = 200_000, 512
	file := smallPackets(packets)
	d := NewDecoder(DecoderConfig{})
	g := NewIdentity(IdentityConfig{Kind: L3})
	digester := digest.NewAES([16]byte{1})
	var h [step]Header
	var digests [step]digest.Digest
	var protocols [step]Protocol
	for _, stage := range []struct {
		name string
		do   func(batch *capture.Batch, from, n int)
	}{
		{"read", func(*capture.Batch, int, int) {}},
		{"decode", func(batch *capture.Batch, from, n int) { d.Decode(h[:n], batch, from) }},
		{"identity", func(batch *capture.Batch, from, n int) { g.FromFrames(protocols[:n], batch, from) }},
		{"digest", func(batch *capture.Batch, from, n int) {
			g.FromFrames(protocols[:n], batch, from).Sum(digests[:n], digester)
		}},
	} {
		b.Run("to="+stage.name, func(b *testing.B) {
			var batch capture.Batch
			for b.Loop() {
				src, err := pcapfile.NewReader(bytes.NewReader(file), "memory", pcapfile.Options{})
				if err != nil {
					b.Fatal(err)
				}
				for err = src.Next(&batch); err == nil; err = src.Next(&batch) {
					for from := 0; from < len(batch.Frames); from += step {
						stage.do(&batch, from, min(step, len(batch.Frames)-from))
					}
				}
				if err != io.EOF {
					b.Fatal(err)
				}
			}
			perPacket(b, packets)
		})
	}
}

// BenchmarkSightings describes small packets of both versions, some of them tagged, and
// what of that is decoding.
func BenchmarkSightings(b *testing.B) {
	const packets, step = 20_000, 512
	src, err := pcapfile.NewReader(bytes.NewReader(smallPackets(packets)), "memory", pcapfile.Options{})
	if err != nil {
		b.Fatal(err)
	}
	var batches []*capture.Batch
	for n := 0; n < packets; n += len(batches[len(batches)-1].Frames) {
		batches = append(batches, new(capture.Batch))
		if err := src.Next(batches[len(batches)-1]); err != nil {
			b.Fatal(err)
		}
	}
	d := NewDecoder(DecoderConfig{})
	h := make([]Header, step)
	all := NewSightingReader(SightingConfig{Fields: allPointFields})
	identity, protocols := NewIdentity(IdentityConfig{}), make([]Protocol, step)
	seen := Sightings{make([]uint64, step), make([]uint64, step), make([]uint64, step)}
	places := NewSightingReader(SightingConfig{Fields: PointInterface | PointInput})
	for _, c := range []struct {
		name string
		do   func(batch *capture.Batch, from, n int)
	}{
		{"decode", func(batch *capture.Batch, from, n int) { d.Decode(h[:n], batch, from) }},
		{"all", func(batch *capture.Batch, from, n int) { all.Read(batch, from, n) }},
		{"identity", func(batch *capture.Batch, from, n int) { identity.FromFrames(protocols[:n], batch, from) }},
		{"identity and all", func(batch *capture.Batch, from, n int) {
			all.ReadIdentities(seen, batch, from, identity.FromFrames(protocols[:n], batch, from))
		}},
		{"points", func(batch *capture.Batch, from, n int) { all.Points(batch, from, n) }},
		{"places", func(batch *capture.Batch, from, n int) { places.Points(batch, from, n) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				for _, batch := range batches {
					for from := 0; from < len(batch.Frames); from += step {
						c.do(batch, from, min(step, len(batch.Frames)-from))
					}
				}
			}
			perPacket(b, packets)
		})
	}
}
