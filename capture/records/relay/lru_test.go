// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestLRU compares a map with a list in the order of use.
func TestLRU(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const limit = 8
	m, model := newLRU[int, int](limit), []int(nil) // the last used last
	for range 10000 {
		key := rng.IntN(12)
		at := slices.Index(model, key)
		v, ok := m.get(key)
		if ok != (at >= 0) || ok && v != -key {
			t.Fatalf("%d: %d %v, with %d", key, v, ok, model)
		}
		if ok {
			model = append(slices.Delete(model, at, at+1), key)
			continue
		}
		m.add(key, -key)
		if len(model) == limit {
			model = model[1:]
		}
		model = append(model, key)
	}
}
