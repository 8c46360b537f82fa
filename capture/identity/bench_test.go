// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

func BenchmarkIdentity(b *testing.B) {
	for _, kind := range []Kind{Frame, L3, Inner} {
		for _, size := range []int{64, 1500} {
			b.Run(fmt.Sprintf("kind=%v/size=%d", kind, size), func(b *testing.B) {
				batch := benchBatch(size, false)
				h := make([]headers.Header, len(batch.Frames))
				d := headers.NewDecoder(headers.DecoderConfig{Inner: kind == Inner})
				g := New(Config{Kind: kind})
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

// BenchmarkLinks lays out datagrams behind other headers than Ethernet's.
func BenchmarkLinks(b *testing.B) {
	sll2 := join(be16(iana.TypeIPv4), "\x00\x00\x00\x00\x00\x02\x00\x01\x00\x06", mac(1), "\x00\x00")
	for _, c := range []struct {
		name   string
		link   capture.LinkType
		before []byte
	}{
		{"sll2", capture.LinkLinuxSLL2, sll2},
		{"raw", capture.LinkRaw, nil},
		{"mpls", capture.LinkEthernet, ether(iana.TypeMPLS, []byte("\x00\x01\x01\x40"))},
		{"pppoe", capture.LinkEthernet, ether(iana.TypePPPoE, join("\x11\x00\x00\x01\x00\x34", be16(0x0021)))},
		{"ciscohdlc", capture.LinkCHDLC, join("\x0f\x00", be16(iana.TypeIPv4))},
	} {
		b.Run("link="+c.name, func(b *testing.B) {
			var frames [][]byte
			for i := range 512 {
				frames = append(frames, join(c.before, ip4(byte(i), iana.ProtoTCP, tcp(1000+i, 80, make([]byte, 10)))))
			}
			batch := newBatch(c.link, frames...)
			g := New(Config{Kind: L3})
			protocols := make([]headers.Protocol, len(frames))
			for b.Loop() {
				g.FromFrames(protocols, batch, 0)
			}
			perPacket(b, len(frames))
		})
	}
}

// BenchmarkTunnels lays out datagrams in tunnels, and datagrams that might have been tunnels.
func BenchmarkTunnels(b *testing.B) {
	const vni = "\x00\x00\x64\x00"
	for _, c := range []struct {
		name string
		over func(frame []byte) []byte
	}{
		{"none", func(frame []byte) []byte { return udp4(53, frame) }},
		{"vxlan", func(frame []byte) []byte { return udp4(iana.PortVXLAN, join("\x08\x00\x00\x00", vni, frame)) }},
		{"geneve", func(frame []byte) []byte { return udp4(iana.PortGENEVE, join("\x00\x00\x65\x58", vni, frame)) }},
		{"gre", func(frame []byte) []byte { return ip4(9, iana.ProtoGRE, join("\x00\x00", frame[12:])) }},
		{"gtp", func(frame []byte) []byte {
			return udp4(iana.PortGTPU, join("\x30\xff", be16(len(frame)-14), "teid", frame[14:]))
		}},
		{"ipip", func(frame []byte) []byte { return ip4(9, iana.ProtoIPv4, frame[14:]) }},
	} {
		b.Run("over="+c.name, func(b *testing.B) {
			var frames [][]byte
			for i := range 512 {
				frames = append(frames, ether4(c.over(ether4(ip4(byte(i), iana.ProtoTCP, tcp(1000+i, 80, make([]byte, 10)))))))
			}
			batch := newBatch(capture.LinkEthernet, frames...)
			g := New(Config{Kind: Inner})
			protocols := make([]headers.Protocol, len(frames))
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
	g := New(Config{Kind: L3})
	protocols := make([]headers.Protocol, len(frames))
	for b.Loop() {
		g.FromFrames(protocols, batch, 0)
	}
	perPacket(b, len(frames))
}

// BenchmarkChunks does what pipelines do with each chunk of a file: it finds the records,
// then decodes them or reads their identities, which it may digest.
func BenchmarkChunks(b *testing.B) {
	const packets, step = 200_000, 512
	file := smallPackets(packets)
	d := headers.NewDecoder(headers.DecoderConfig{})
	g := New(Config{Kind: L3})
	digester := digest.NewAES([16]byte{1})
	var h [step]headers.Header
	var digests [step]digest.Digest
	var protocols [step]headers.Protocol
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
