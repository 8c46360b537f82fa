// SPDX-License-Identifier: Apache-2.0

package digest

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
)

// cbcMAC is the definition in terms of the standard library's CBC mode.
func cbcMAC(t *testing.T, key [16]byte, blocks []byte) Digest {
	t.Helper()
	block, err := aes.NewCipher(key[:])
	if err != nil {
		t.Fatal(err)
	}
	out := make([]byte, len(blocks))
	cipher.NewCBCEncrypter(block, make([]byte, 16)).CryptBlocks(out, blocks)
	return digestOf(out[len(out)-16:])
}

func TestAESKeys(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	key := [16]byte{1, 2, 3}
	for n := range 40 {
		k16, k48 := make([][16]byte, n), make([][48]byte, n)
		for i := range n {
			for j := range k48[i] {
				k48[i][j] = byte(rng.Uint32())
			}
			k16[i] = [16]byte(k48[i][:])
		}
		dst := make([]Digest, n+1)
		NewAES(key).Sum16(dst, k16)
		for i := range n {
			if want := cbcMAC(t, key, k16[i][:]); dst[i] != want {
				t.Fatalf("n=%d: Sum16[%d] = %x, want %x", n, i, dst[i], want)
			}
		}
		NewAES(key).Sum48(dst, k48)
		for i := range n {
			if want := cbcMAC(t, key, k48[i][:]); dst[i] != want {
				t.Fatalf("n=%d: Sum48[%d] = %x, want %x", n, i, dst[i], want)
			}
		}
		if dst[n] != (Digest{}) {
			t.Fatalf("n=%d: wrote beyond the last key", n)
		}
	}
}

func TestAESMessages(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	key := [16]byte{9: 9}
	buf := kerneltest.Pattern(5000)
	check := func(t *testing.T, msgs []Message) {
		t.Helper()
		before := bytes.Clone(buf)
		dst := make([]Digest, len(msgs)+1)
		NewAES(key).SumMessages(dst, buf, msgs)
		for i, m := range msgs {
			if want := plainMessageDigest(t, key, buf, m); dst[i] != want {
				t.Fatalf("message %d of %d, %+v: %x, want %x", i, len(msgs), m, dst[i], want)
			}
		}
		if dst[len(msgs)] != (Digest{}) || !bytes.Equal(buf, before) {
			t.Fatal("wrote beyond the last digest or into buf")
		}
	}
	for n := range 70 {
		check(t, randomMessages(rng, n, 100, len(buf)))
	}
	check(t, randomMessages(rng, 100, 5000, len(buf)))
	var lengths []Message
	for n := range uint32(100) { // messages that end with buf
		lengths = append(lengths, Message{Off: 5000 - n, Len: n})
	}
	check(t, lengths)
}

func TestMessageRangePanics(t *testing.T) {
	buf := make([]byte, 100)
	for _, d := range []MessageDigester{NewAES([16]byte{}), NewHighway([32]byte{})} {
		for _, c := range []struct {
			name string
			dst  int
			m    Message
		}{
			{"dst shorter", 0, Message{}},
			{"beyond buf", 1, Message{Off: 100, Len: 1}},
			{"beyond buf", 1, Message{Off: 0xffffffff, Len: 0xffffffff}},
			{"beyond buf", 1, Message{Off: 101}},
		} {
			got := func() (got string) {
				defer func() { got = fmt.Sprint(recover()) }()
				d.SumMessages(make([]Digest, c.dst), buf, []Message{c.m})
				return ""
			}()
			if !strings.Contains(got, c.name) {
				t.Errorf("%T, %+v: panic %q, want %q", d, c.m, got, c.name)
			}
		}
	}
}

func TestKeysPanic(t *testing.T) {
	aes := NewAES([16]byte{})
	for name, f := range map[string]func(){
		"Sum16": func() { aes.Sum16(make([]Digest, 1), make([][16]byte, 2)) },
		"Sum48": func() { aes.Sum48(make([]Digest, 1), make([][48]byte, 2)) },
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, name) {
					t.Errorf("%s with a short dst: panic %q", name, got)
				}
			}()
			f()
		}()
	}
}

func TestDigestsDoNotAllocate(t *testing.T) {
	buf := kerneltest.Pattern(5000)
	msgs := randomMessages(rand.New(rand.NewPCG(5, 6)), 100, 200, len(buf))
	dst := make([]Digest, len(msgs))
	k16, k48 := make([][16]byte, 100), make([][48]byte, 100)
	aes, highway := NewAES([16]byte{}), NewHighway([32]byte{})
	if n := testing.AllocsPerRun(10, func() {
		aes.Sum16(dst, k16)
		aes.Sum48(dst, k48)
		aes.SumMessages(dst, buf, msgs)
		highway.SumMessages(dst, buf, msgs)
	}); n != 0 {
		t.Errorf("%v allocations a run", n)
	}
}

func FuzzMessages(f *testing.F) {
	f.Add([]byte{}, uint16(0), uint64(0))
	f.Add(kerneltest.Pattern(33), uint16(1), uint64(7))
	f.Fuzz(func(t *testing.T, buf []byte, off uint16, tweak uint64) {
		o := min(int(off), len(buf))
		msgs := []Message{{Off: uint32(o), Len: uint32(len(buf) - o), Tweak: tweak}, {Len: uint32(len(buf))}}
		dst := make([]Digest, 2)
		NewAES([16]byte{1}).SumMessages(dst, buf, msgs)
		for i, m := range msgs {
			if want := plainMessageDigest(t, [16]byte{1}, buf, m); dst[i] != want {
				t.Errorf("AES %+v: %x, want %x", m, dst[i], want)
			}
		}
		NewHighway([32]byte{1}).SumMessages(dst, buf, msgs)
		for i, m := range msgs {
			if want := plainHighway([32]byte{1}, highwayInput(buf, m)); dst[i] != want {
				t.Errorf("Highway %+v: %x, want %x", m, dst[i], want)
			}
		}
	})
}
