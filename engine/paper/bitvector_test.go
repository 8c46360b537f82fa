package paper

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"math/rand/v2"
	"testing"
)

func TestBitVectorIsExact(t *testing.T) {
	v, err := NewBitVector(11)
	if err != nil {
		t.Fatal(err)
	}
	if v.Bits() != 2048 {
		t.Errorf("%d bits, want 2048", v.Bits())
	}
	random, known := rand.New(rand.NewPCG(1, 0)), make(map[uint64]bool)
	for range 4000 {
		id := random.Uint64N(2048)
		// What lies above the ID's bits is no part of it.
		if seen := v.TestAndSet(digest.Digest{random.Uint64()<<11 | id, random.Uint64()}); seen != known[id] {
			t.Fatalf("element %d: seen %v", id, seen)
		}
		known[id] = true
	}
}

func TestBitVectorConstructorErrors(t *testing.T) {
	failure := func(_ any, err error) error { return err }
	requireParameterErrors(t, map[string]error{
		"no ID bits":   failure(NewBitVector(0)),
		"many ID bits": failure(NewBitVector(64)),
	})
}
