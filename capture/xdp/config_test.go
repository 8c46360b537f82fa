// SPDX-License-Identifier: Apache-2.0

package xdp

import "testing"

func TestConfigErrors(t *testing.T) {
	for _, c := range []Config{
		{},
		{Interfaces: []string{"right", "right"}},
		{Interfaces: []string{"right"}, RingBytes: -1},
		{Interfaces: []string{"right"}, SnapLen: -1},
		{Interfaces: []string{"right"}, Idle: -1},
		{Interfaces: []string{"right"}, Delay: -1},
	} {
		if _, err := c.withDefaults(); err == nil {
			t.Errorf("%+v is possible", c)
		}
	}
	good := Config{Interfaces: []string{"right"}, RingBytes: 1, SnapLen: 1 << 30}
	if _, err := good.withDefaults(); err != nil {
		t.Error(err)
	}
}
