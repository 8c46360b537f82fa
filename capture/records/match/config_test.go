// SPDX-License-Identifier: Apache-2.0

package match

import (
	"errors"
	"testing"
)

func TestConfigErrors(t *testing.T) {
	for name, cfg := range map[string]Config{
		"points":  {Points: Observation + 1},
		"timeout": {OwnerTimeout: -1},
		"memory":  {Memory: -1},
	} {
		if j, err := New(cfg); !errors.Is(err, ErrConfig) || j != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
