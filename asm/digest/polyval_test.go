// SPDX-License-Identifier: Apache-2.0

package digest

import (
	"crypto/aes"
	"encoding/hex"
	"math/big"
	"testing"
)

// polyvalModulus is x^128 + x^127 + x^126 + x^121 + 1.
var polyvalModulus = func() *big.Int {
	p := big.NewInt(1)
	for _, power := range []int{121, 126, 127, 128} {
		p.SetBit(p, power, 1)
	}
	return p
}()

// plainDot is dot of RFC 8452, section 3: a*b*x^-128, bit by bit.
func plainDot(a, b *big.Int) *big.Int {
	product := new(big.Int)
	for i := range 128 {
		if b.Bit(i) == 1 {
			product.Xor(product, new(big.Int).Lsh(a, uint(i)))
		}
	}
	for range 128 {
		if product.Bit(0) == 1 {
			product.Xor(product, polyvalModulus)
		}
		product.Rsh(product, 1)
	}
	return product
}

func bigOf(b []byte) *big.Int {
	d := digestOf(b)
	v := new(big.Int).SetUint64(d[1])
	return v.Or(v.Lsh(v, 64), new(big.Int).SetUint64(d[0]))
}

func littleEndian(v *big.Int) []byte {
	b := v.FillBytes(make([]byte, 16))
	for i := range 8 {
		b[i], b[15-i] = b[15-i], b[i]
	}
	return b
}

// plainPolyval is POLYVAL of whole blocks.
func plainPolyval(h, blocks []byte) []byte {
	sum, point := new(big.Int), bigOf(h)
	for ; len(blocks) > 0; blocks = blocks[16:] {
		sum = plainDot(sum.Xor(sum, bigOf(blocks)), point)
	}
	return littleEndian(sum)
}

// plainMessageDigest is the definition of SumMessages.
func plainMessageDigest(t *testing.T, key [16]byte, buf []byte, m Message) Digest {
	t.Helper()
	encrypt := func(key, block []byte) []byte {
		c, err := aes.NewCipher(key)
		if err != nil {
			t.Fatal(err)
		}
		out := make([]byte, 16)
		c.Encrypt(out, block)
		return out
	}
	one, two := append([]byte{1}, make([]byte, 15)...), append([]byte{2}, make([]byte, 15)...)
	blocks := append([]byte{}, buf[m.Off:m.Off+m.Len]...)
	blocks = append(blocks, make([]byte, -len(blocks)&15)...)
	sum := digestOf(plainPolyval(encrypt(key[:], one), blocks))
	sum[0] ^= uint64(m.Len) << 32
	sum[1] ^= m.Tweak
	return digestOf(encrypt(encrypt(key[:], two), bytesOf(sum)))
}

// TestPublishedPolyval has the example of a product of RFC 8452, section 7, and the one of
// its appendix A.
func TestPublishedPolyval(t *testing.T) {
	decode := func(text string) []byte {
		b, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, c := range []struct{ h, blocks, want string }{
		{"ff000000000000000000000000000000", "66e94bd4ef8a2c3b884cfa59ca342b2e", "ebe563401e7e91ea3ad6426b8140c394"},
		{"25629347589242761d31f826ba4b757b", "4f4f95668c83dfb6401762bb2d01a262" + "d1a24ddd2721d006bbe45f20d3c9f362",
			"f7a3b47b846119fae5b7866cf5e5b77e"},
	} {
		h, want := decode(c.h), decode(c.want)
		if got := plainPolyval(h, decode(c.blocks)); digestOf(got) != digestOf(want) {
			t.Errorf("plainPolyval(%s) = %x, want %s", c.blocks, got, c.want)
		}
		if sum := newPolyvalTables(digestOf(h)).sum(decode(c.blocks)); sum != digestOf(want) {
			t.Errorf("POLYVAL(%s) = %x, want %s", c.blocks, bytesOf(sum), c.want)
		}
	}
}
