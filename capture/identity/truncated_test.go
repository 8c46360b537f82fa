// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
)

// TestTruncated compares how many packets are truncated with what IntegrityOf says of each: frames of
// all link types and tunnels, with and without padding, cut at every length.
func TestTruncated(t *testing.T) {
	var whole []tap
	for _, c := range linkCases {
		whole = append(whole, tap{Name: c.Name, Link: c.Link, Data: join(c.Head, c.Ip)})
	}
	for _, c := range tunnelCases {
		whole = append(whole, tap{Name: c.Name, Link: capture.LinkRaw, Data: c.Outer})
	}
	for _, data := range [][]byte{ether4(packet4), ether6(packet6), vlan(ether4(packet4)), arpFrame, goose(1), prp(arpFrame, 0, 0xa, 1)} {
		whole = append(whole, onEthernet("bare", data), onEthernet("padded", padded60(data)))
	}
	var taps []tap
	for _, s := range whole {
		for n := 14; n <= len(s.Data); n++ {
			cut := s.missing(len(s.Data) - n)
			cut.Data = s.Data[:n]
			taps = append(taps, cut)
		}
		taps = append(taps, s.missing(8)) // of a trailer
	}
	for _, kind := range []Kind{L3, Inner, Frame} {
		for _, limit := range []int{0, 30} {
			cfg, seen := Config{Kind: kind, Bytes: limit}, [2]int{}
			id, d := New(cfg), headers.NewDecoder(cfg.Decode())
			for _, s := range taps {
				b := batchOf([]tap{s})
				want := uint64(0)
				if h := decode(d, b)[0]; IntegrityOf(&h, b, 0) == Truncated || kind == Frame && s.Cut > 0 {
					want = 1
				}
				seen[want]++
				if got := id.FromFrames(make([]headers.Protocol, 1), b, 0).Truncated(); got != want {
					t.Errorf("kind %v, %d bytes: %s, %d of %d bytes: %d truncated, want %d", kind, limit, s.Name, len(s.Data), len(s.Data)+s.Cut, got, want)
				}
			}
			if seen[0] < 100 || seen[1] < 100 {
				t.Errorf("%d whole, %d truncated", seen[0], seen[1])
			}
		}
	}
}

// TestPaddingCut cuts frames within their padding, which all but kind Frame take for whole.
func TestPaddingCut(t *testing.T) {
	for name, data := range map[string][]byte{"arp": arpFrame, "tagged": vlan(arpFrame), "IPv4": ether4(packet4[:28])} {
		for kind, truncated := range map[Kind]uint64{L3: 0, Inner: 0, Frame: 1} {
			if name == "IPv4" {
				data = with(data, 16, "\x00\x1c")
			}
			b := batchOf([]tap{onEthernet(name, data).missing(60 - len(data))})
			if got := New(Config{Kind: kind}).FromFrames(make([]headers.Protocol, 1), b, 0).Truncated(); got != truncated {
				t.Errorf("%s, kind %v: %d, want %d", name, kind, got, truncated)
			}
			if got := integrityOf(headers.DecoderConfig{}, capture.LinkEthernet, data, 60); got == Truncated {
				t.Errorf("%s is truncated", name)
			}
		}
	}
}
