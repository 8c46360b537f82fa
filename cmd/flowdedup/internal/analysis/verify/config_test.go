// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"errors"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/traits"
)

// newVerifier makes one of a configuration that is possible.
func newVerifier(cfg Config, output, duplicates capture.Source) *Verifier {
	var removed []capture.Source
	if duplicates != nil {
		removed = append(removed, duplicates)
	}
	made, err := New(cfg, []capture.Source{output}, removed)
	if err != nil {
		panic(err)
	}
	return made
}

func TestConfigErrors(t *testing.T) {
	for _, cfg := range []Config{
		{Identity: identity.Config{Kind: identity.Inner + 1}},
		{Within: traits.PointOrigin << 1},
		{Window: -1},
		{Tolerance: -1},
		{Sort: Sort{Span: -1}},
		{Window: 1, Packets: 1},
		{Landmark: true},
		{Memory: -1},
		{Sort: Sort{Memory: -1}},
	} {
		if made, err := New(cfg, []capture.Source{sourceOf(nil)}, nil); !errors.Is(err, ErrConfig) || made != nil {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}
