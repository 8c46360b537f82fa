package lru

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestMap compares a map with a list in the order of use.
func TestMap(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const limit = 8
	m, model := New[int, int](limit), []int(nil) // the last used last
	for range 10000 {
		key := rng.IntN(12)
		at := slices.Index(model, key)
		v, ok := m.Get(key)
		if ok != (at >= 0) || ok && v != -key {
			t.Fatalf("%d: %d %v, with %d", key, v, ok, model)
		}
		switch {
		case ok:
			model = append(slices.Delete(model, at, at+1), key)
		case rng.IntN(4) == 0:
			if v, ok := m.Oldest(); ok != (len(model) > 0) || ok && v != -model[0] {
				t.Fatalf("the oldest of %d is %d", model, v)
			}
			model = model[min(1, len(model)):]
		default:
			old, full := m.Add(key, -key)
			if full != (len(model) == limit) || full && old != -model[0] {
				t.Fatalf("%d gave way in %d: %v", old, model, full)
			}
			if full {
				model = model[1:]
			}
			model = append(model, key)
		}
		var keys []int
		for k := range m.Backward {
			keys = append(keys, k)
		}
		if !slices.Equal(keys, model) || m.Len() != len(model) {
			t.Fatalf("%d, want %d", keys, model)
		}
	}
}
