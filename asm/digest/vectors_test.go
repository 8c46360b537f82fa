// SPDX-License-Identifier: Apache-2.0

package digest

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
)

// digestOf reads a digest from its 16 bytes.
func digestOf(b []byte) Digest {
	return Digest{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])}
}

func bytesOf(d Digest) []byte {
	b := binary.LittleEndian.AppendUint64(nil, d[0])
	return binary.LittleEndian.AppendUint64(b, d[1])
}

func TestPublishedAES(t *testing.T) {
	var v struct {
		Encrypt []struct{ Key, Plain, Cipher kerneltest.Hex }
		CBC     struct{ Key, IV, Plain, Cipher kerneltest.Hex }
		CMAC40  struct{ Key, K2, Message, MAC kerneltest.Hex }
	}
	kerneltest.ReadVectors(t, "aes128.json", &v)
	dst := make([]Digest, 1)
	for _, e := range v.Encrypt {
		NewAES([16]byte(e.Key)).Sum16(dst, [][16]byte{[16]byte(e.Plain)})
		if dst[0] != digestOf(e.Cipher) {
			t.Errorf("Sum16(%x) under %x = %x, want %x", e.Plain, e.Key, bytesOf(dst[0]), e.Cipher)
		}
	}
	cbc := [48]byte(v.CBC.Plain)
	xorBlock((*[16]byte)(cbc[:]), (*[16]byte)(v.CBC.IV))
	NewAES([16]byte(v.CBC.Key)).Sum48(dst, [][48]byte{cbc})
	if dst[0] != digestOf(v.CBC.Cipher[32:]) {
		t.Errorf("Sum48 of the CBC example = %x, want %x", bytesOf(dst[0]), v.CBC.Cipher[32:])
	}
	// CMAC pads 40 bytes with 80 00.. and adds K2 to the last block; the rest is
	// CBC-MAC.
	var mac [48]byte
	mac[copy(mac[:], v.CMAC40.Message)] = 0x80
	xorBlock((*[16]byte)(mac[32:]), (*[16]byte)(v.CMAC40.K2))
	NewAES([16]byte(v.CMAC40.Key)).Sum48(dst, [][48]byte{mac})
	if dst[0] != digestOf(v.CMAC40.MAC) {
		t.Errorf("Sum48 of the CMAC example = %x, want %x", bytesOf(dst[0]), v.CMAC40.MAC)
	}
}

// digestVectors are digests as this package defines them, for other implementations
// and CPUs to reproduce. Input byte i of all inputs is byte i of kerneltest.Pattern.
type digestVectors struct {
	Comment  string
	AESKey   kerneltest.Hex
	Key      kerneltest.Hex
	Sum16    []kerneltest.Hex // of pattern[16i:16i+16]
	Sum48    []kerneltest.Hex // of pattern[48i:48i+48]
	Messages []goldenMessage
}

type goldenMessage struct {
	Off, Len     uint32
	Tweak        uint64
	AES, Highway kerneltest.Hex
}

func makeDigestVectors() digestVectors {
	g := digestVectors{
		Comment: "input byte i is the low byte of (i*i + 7*i) / 4, rounded down",
		AESKey:  kerneltest.Pattern(16), Key: kerneltest.Pattern(32),
	}
	buf := kerneltest.Pattern(4096)
	aes, highway := NewAES([16]byte(g.AESKey)), NewHighway([32]byte(g.Key))
	for i := range 4 {
		d := make([]Digest, 2)
		aes.Sum16(d[:1], [][16]byte{[16]byte(buf[16*i:])})
		aes.Sum48(d[1:], [][48]byte{[48]byte(buf[48*i:])})
		g.Sum16 = append(g.Sum16, bytesOf(d[0]))
		g.Sum48 = append(g.Sum48, bytesOf(d[1]))
	}
	msgs := []Message{}
	for i, n := range []uint32{0, 1, 15, 16, 17, 31, 32, 33, 47, 48, 63, 64, 65, 100, 1500, 4000} {
		msgs = append(msgs, Message{Off: uint32(i), Len: n, Tweak: uint64(i) * 0x0123456789abcdef})
	}
	a, h := make([]Digest, len(msgs)), make([]Digest, len(msgs))
	aes.SumMessages(a, buf, msgs)
	highway.SumMessages(h, buf, msgs)
	for i, m := range msgs {
		g.Messages = append(g.Messages, goldenMessage{m.Off, m.Len, m.Tweak, bytesOf(a[i]), bytesOf(h[i])})
	}
	return g
}

func TestGoldenDigests(t *testing.T) { kerneltest.CheckGolden(t, "digests.json", makeDigestVectors()) }

// randomMessages makes n messages of up to maxLen bytes anywhere in buf.
func randomMessages(rng *rand.Rand, n, maxLen, size int) []Message {
	msgs := make([]Message, n)
	for i := range msgs {
		length := rng.IntN(min(maxLen, size) + 1)
		msgs[i] = Message{
			Off: uint32(rng.IntN(size - length + 1)), Len: uint32(length), Tweak: rng.Uint64(),
		}
	}
	return msgs
}
