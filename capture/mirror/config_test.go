// SPDX-License-Identifier: Apache-2.0

package mirror

import "testing"

func TestConfigErrors(t *testing.T) {
	for _, c := range []Config{
		{},
		{Targets: make([]Target, 1), Sockets: -1},
		{Targets: make([]Target, 1), Sockets: maxSockets + 1},
		{Targets: make([]Target, 1), SnapLen: -1},
		{Targets: make([]Target, 1), BufferBytes: -1},
	} {
		if _, err := c.withDefaults(); err == nil {
			t.Errorf("%+v is possible", c)
		}
	}
	good := Config{Targets: make([]Target, 1), Sockets: maxSockets, BufferBytes: 1}
	if _, err := good.withDefaults(); err != nil {
		t.Error(err)
	}
}
