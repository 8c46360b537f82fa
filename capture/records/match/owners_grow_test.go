// SPDX-License-Identifier: Apache-2.0

package match

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/engine/secret"
	"github.com/flowdedup/flowdedup/engine/snapshot"
)

// TestOwnersGrow fills a table while it grows to all its memory, in the end from a snapshot: it
// forgets no flow, and takes no more memory than flows need.
func TestOwnersGrow(t *testing.T) {
	const memory = 64 << 20
	o, rng := ownersOf(t, memory), rand.New(rand.NewPCG(13, 14))
	var flows []uint64
	owner := func(i int) uint32 { return 1 + uint32(i)%3 }
	check := func() {
		t.Helper()
		for i, flow := range flows {
			if got, answer := o.report(tell(flow, 4, float64(i%7), float64(i%7))); answer != ownerCopy || got != owner(i) {
				t.Fatalf("flow %d of %d: %d by %d", i, len(flows), answer, got)
			}
		}
	}
	for grown := uint(0); grown < maxOwnersGrown; {
		flow := rng.Uint64()
		flows = append(flows, flow)
		i := len(flows) - 1
		if _, answer := o.report(tell(flow, owner(i), float64(i%7), float64(i%7))); answer != ownerNew {
			t.Fatalf("flow %d: %d", i, answer)
		}
		if o.grown == grown {
			continue
		}
		grown = o.grown
		if bytes := o.Bytes() / 2; bytes > 30*len(flows) {
			t.Errorf("%d flows filled %d bytes", len(flows), bytes)
		}
		check()
		if grown == 2 {
			o = resaved(t, o, memory)
			check()
		}
	}
	if o.Bytes() != memory {
		t.Errorf("%d bytes of %d", o.Bytes(), memory)
	}
}

// resaved returns the table that was saved.
func resaved(t *testing.T, o *owners, memory int) *owners {
	t.Helper()
	var saved bytes.Buffer
	if err := o.snapshot(&saved, secret.Secret{7}, ""); err != nil {
		t.Fatal(err)
	}
	if saved.Len() > o.Bytes()+1000 {
		t.Errorf("%d bytes are saved of a table of %d", saved.Len(), o.Bytes())
	}
	restored, err := restoreOwners(&saved, snapshot.RestoreConfig{Secret: secret.Secret{7}, Memory: memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = restored.Close() })
	return restored
}
