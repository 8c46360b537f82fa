package flow

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/asm"
	"github.com/flowdedup/flowdedup/capture"
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

// BenchmarkChunks does what a pipeline does with each chunk, one stage more from
// line to line: it reads, finds records, decodes, gathers identities, digests.
func BenchmarkChunks(b *testing.B) {
	const packets, step = 200_000, 512
	file := smallPackets(packets)
	for stages, name := range []string{"read", "decode", "gather", "digest", "protocols", "sums"} {
		b.Run("to="+name, func(b *testing.B) {
			d := NewDecoder(Config{})
			g := NewIdentity(IdentityConfig{Kind: L3, Ignore: L3.DefaultIgnore()})
			digester := asm.NewAES([16]byte{1})
			h := make([]Header, step)
			digests := make([]asm.Digest, step)
			protocols := make([]Protocol, step)
			var batch capture.Batch
			for b.Loop() {
				src, err := capture.NewReader(bytes.NewReader(file), "memory", capture.Options{})
				if err != nil {
					b.Fatal(err)
				}
				for err = src.Next(&batch); err == nil; err = src.Next(&batch) {
					for from := 0; stages > 0 && from < len(batch.Frames); from += step {
						h := h[:min(step, len(batch.Frames)-from)]
						if stages > 3 {
							buf, msgs := g.Read(protocols[:len(h)], &batch, from)
							if stages > 4 {
								digester.SumMessages(digests, buf, msgs)
							}
							continue
						}
						d.Decode(h, &batch, from)
						if stages < 2 {
							continue
						}
						buf, msgs := g.Gather(&batch, from, h)
						if stages > 2 {
							digester.SumMessages(digests, buf, msgs)
						}
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
