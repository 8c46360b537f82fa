package flow

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// smallPackets returns a pcap file of n frames of 64 bytes, or what IPv6 and VLAN
// tags need more: a fifth is IPv6 and one in forty tagged, in random order.
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

// BenchmarkChunks does what pipelines do with each chunk: they find records, and
// decode them, or read their identities, which they may digest.
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
