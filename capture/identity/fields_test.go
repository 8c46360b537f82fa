// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// alone has for each field a frame, and the same one with only this field changed.
func alone() map[string][2][]byte {
	v4, v6 := ether(iana.TypeIPv4, packet4), ether(iana.TypeIPv6, packet6)
	tag := func(id int) []byte { return ether(iana.TypeVLAN, join(be16(id), be16(iana.TypeIPv4), packet4)) }
	return map[string][2][]byte{
		"ttl":         {v4, with(v4, 14+8, "\x3f")},
		"dscp":        {v4, with(v4, 14+1, string([]byte{v4[15] ^ 4}))},
		"ecn":         {v4, with(v4, 14+1, string([]byte{v4[15] ^ 1}))},
		"ip-checksum": {v4, with(v4, 14+10, "\x11\x22")},
		"ip-id":       {v4, with(v4, 14+4, "\xff\xfe")},
		"flow-label":  {v6, with(v6, 14+2, "\x77\x77")},
		"l4-checksum": {v4, with(v4, 14+20+6, "\x77\x77")},
		"mac":         {v4, with(v4, 0, "abcdefghijkl")},
		"vlan":        {tag(100), tag(200)},
		"tcp-seq":     {v6, with(v6, 14+40+4, "numbers!")},
		"nat":         {v4, with(v4, 14+12, "\x01\x02\x03\x04")},
	}
}

// TestFieldsAlone ignores each field, by itself and with all others but one: frames that
// differ in a field are copies where it is ignored, and only there.
func TestFieldsAlone(t *testing.T) {
	frames := alone()
	if len(frames) != len(fieldNames) {
		t.Fatalf("frames for %d of %d fields", len(frames), len(fieldNames))
	}
	equal := func(name string, ignore Fields) bool {
		cfg := Config{Kind: Frame, Ignore: IgnoreOnly(ignore)}
		pair := frames[name]
		return identityOf(cfg, capture.LinkEthernet, pair[0]) == identityOf(cfg, capture.LinkEthernet, pair[1])
	}
	const all = Fields(1)<<len(fieldNames) - 1
	// Checksums belong to more than one field.
	covers := map[string]Fields{"l4-checksum": NAT}
	for name := range frames {
		for i, ignored := range fieldNames {
			mask, err := ParseIgnore("none," + ignored)
			if err != nil {
				t.Fatal(err)
			}
			field := Fields(1) << i
			if got, want := equal(name, mask.Apply(Frame)), ignored == name || covers[name]&field != 0; got != want {
				t.Errorf("%s ignored: frames that differ in %s are copies: %v, want %v", ignored, name, got, want)
			}
			others := all &^ field
			if got, want := equal(name, others), ignored != name || covers[name] != 0; got != want {
				t.Errorf("all but %s ignored: frames that differ in %s are copies: %v, want %v", ignored, name, got, want)
			}
		}
	}
}
