package paper

import (
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
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

// TestSubstring compares with the digest's bits one by one.
func TestSubstring(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 0))
	d := digest.Digest{random.Uint64(), random.Uint64()}
	for length := 1; length <= 38; length++ {
		for from := 0; from+length <= 128; from++ {
			want := uint64(0)
			for i := range length {
				bit := from + i
				want |= d[bit/64] >> (bit % 64) & 1 << i
			}
			if got := substring(d, from, length); got != want {
				t.Fatalf("%d bits from %d: %x, want %x", length, from, got, want)
			}
		}
	}
}

// TestSubstringsModel compares with a map of all substrings that came.
func TestSubstringsModel(t *testing.T) {
	for _, c := range []struct{ idBits, length int }{{16, 16}, {16, 12}, {70, 10}, {128, 9}, {10, 1}} {
		s, err := NewSubstrings(c.idBits, c.length)
		if err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(3, 0))
		came := make(map[[2]uint64]bool)
		positives := 0
		for range 3000 {
			d := digestOf(random.Uint64N(2000))
			want := true
			for from := 0; from+c.length <= c.idBits; from++ {
				key := [2]uint64{uint64(from), substring(d, from, c.length)}
				want = want && came[key]
				came[key] = true
			}
			if got := s.TestAndSet(d); got != want {
				t.Fatalf("%+v: seen %v, want %v", c, got, want)
			}
			if want {
				positives++
			}
		}
		if positives == 0 {
			t.Errorf("%+v: no duplicates in the test", c)
		}
	}
}

// TestSubstringsExample checks the paper's example: 17 vectors of 2^16 bits, 0.026 % of
// those of the exact solution.
func TestSubstringsExample(t *testing.T) {
	s, err := NewSubstrings(32, 16)
	if err != nil {
		t.Fatal(err)
	}
	if share := float64(s.Bits()) / (1 << 32); s.Bits() != 17<<16 || share < .000255 || share > .000265 {
		t.Errorf("%d bits, %.5f %% of the exact solution's", s.Bits(), 100*share)
	}
}

// TestSubstringsCollideTogether shows why the paper rejects the method: it has more false
// positives than as many independent functions with vectors of the same size. Their
// number stays below the closed form's upper bound with probability 1 - 1e-6.
func TestSubstringsCollideTogether(t *testing.T) {
	const idBits, length, n = 24, 12, 4096
	s, err := NewSubstrings(idBits, length)
	if err != nil {
		t.Fatal(err)
	}
	const d = idBits - length + 1
	l, err := NewLandmarkBloom(LandmarkConfig{Bits: d << length, D: d, Window: n, Partitioned: true})
	if err != nil {
		t.Fatal(err)
	}
	overlapping, independent := 0, 0
	for id := range uint64(n) {
		if s.TestAndSet(digestOf(id)) {
			overlapping++
		}
		if l.TestAndSet(digestOf(id)) {
			independent++
		}
	}
	_, high := binomialInterval(n, landmarkRate(t, d<<length, d, n), 1e-6)
	t.Logf("%d false positives, %d with independent functions, bound %d", overlapping, independent, high)
	if independent > high || overlapping <= high {
		t.Errorf("%d false positives, %d with independent functions, bound %d", overlapping, independent, high)
	}
}

func TestSubstringsConstructorErrors(t *testing.T) {
	failure := func(_ any, err error) error { return err }
	requireParameterErrors(t, map[string]error{
		"no substring":          failure(NewSubstrings(8, 0)),
		"substring of no ID":    failure(NewSubstrings(0, 1)),
		"ID beyond digest":      failure(NewSubstrings(129, 4)),
		"substring beyond ID":   failure(NewSubstrings(8, 9)),
		"substrings' memory":    failure(NewSubstrings(128, 32)),
		"substring of 128 bits": failure(NewSubstrings(128, 128)),
	})
}
