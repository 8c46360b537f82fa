// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"errors"
	"testing"

	"github.com/flowdedup/flowdedup/capture/identity"
)

// newComparer makes one of a configuration that is possible.
func newComparer(cfg Config) *Comparer {
	made, err := New(cfg)
	if err != nil {
		panic(err)
	}
	return made
}

func TestConfigErrors(t *testing.T) {
	for _, cfg := range []Config{
		{Identity: identity.Config{Kind: identity.Inner + 1}},
		{Identity: identity.Config{Ignore: identity.IgnoreOnly(1 << 31)}},
		{Window: -1},
		{Memory: -1},
	} {
		if made, err := New(cfg); !errors.Is(err, ErrConfig) || made != nil {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}
