// SPDX-License-Identifier: Apache-2.0

package keys

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// communityVectors are the vectors of the specification for seed 0:
// baseline/baseline_deflt.json in https://github.com/corelight/community-id-spec.
var communityVectors = []struct {
	proto            uint8
	src, dst         string
	srcPort, dstPort uint16
	want             string
}{
	{58, "fe80::200:86ff:fe05:80da", "fe80::260:97ff:fe07:69ea", 135, 136, "1:dGHyGvjMfljg6Bppwm3bg0LO8TY="},
	{58, "fe80::260:97ff:fe07:69ea", "fe80::200:86ff:fe05:80da", 136, 135, "1:dGHyGvjMfljg6Bppwm3bg0LO8TY="},
	{58, "fe80::260:97ff:fe07:69ea", "fe80::200:86ff:fe05:80da", 135, 136, "1:zavyT/cezQr1fmImYCwYnMXbgck="},
	{58, "fe80::200:86ff:fe05:80da", "fe80::260:97ff:fe07:69ea", 136, 135, "1:zavyT/cezQr1fmImYCwYnMXbgck="},
	{58, "3ffe:501:1800:2345::2", "3ffe:507:0:1:200:86ff:fe05:80da", 3, 0, "1:2ObVBgIn28oZvibYZhZMBgh7WdQ="},
	{58, "3ffe:501:410:0:2c0:dfff:fe47:33e", "3ffe:507:0:1:200:86ff:fe05:80da", 1, 4, "1:hLZd0XGWojozrvxqE0dWB1iM6R0="},
	{58, "3ffe:507:0:1:200:86ff:fe05:80da", "3ffe:501:0:1001::2", 128, 129, "1:+TW+HtLHvV1xnGhV1lv7XoJrqQg="},
	{58, "3ffe:501:0:1001::2", "3ffe:507:0:1:200:86ff:fe05:80da", 129, 128, "1:+TW+HtLHvV1xnGhV1lv7XoJrqQg="},
	{58, "fe80::200:86ff:fe05:80da", "ff02::2", 133, 134, "1:hO+sN4H+MG5MY/8hIrXPqc4ZQz0="},
	{58, "fe80::260:97ff:fe07:69ea", "ff02::1", 134, 133, "1:pkvHqCL88/tg1k4cPigmZXUtL00="},
	{1, "192.168.0.89", "192.168.0.1", 8, 0, "1:X0snYXpgwiv9TZtqg64sgzUn6Dk="},
	{1, "192.168.0.1", "192.168.0.89", 0, 8, "1:X0snYXpgwiv9TZtqg64sgzUn6Dk="},
	{1, "10.0.0.1", "10.0.0.2", 11, 0, "1:YHxtAirCG//0OzkcVAukqKQN9xM="},
	{6, "2001:470:e5bf:dead:4957:2174:e82c:4887", "2607:f8b0:400c:c03::1a", 63943, 25, "1:/qFaeAR+gFe1KYjMzVDsMv+wgU4="},
	{6, "2607:f8b0:400c:c03::1a", "2001:470:e5bf:dead:4957:2174:e82c:4887", 25, 63943, "1:/qFaeAR+gFe1KYjMzVDsMv+wgU4="},
	{132, "192.168.170.8", "192.168.170.56", 7, 7, "1:MP2EtRCAUIZvTw6MxJHLV7N7JDs="},
	{132, "192.168.170.56", "192.168.170.8", 7, 7, "1:MP2EtRCAUIZvTw6MxJHLV7N7JDs="},
	{6, "128.232.110.120", "66.35.250.204", 34855, 80, "1:LQU9qZlK+B5F3KDmev6m5PMibrg="},
	{6, "66.35.250.204", "128.232.110.120", 80, 34855, "1:LQU9qZlK+B5F3KDmev6m5PMibrg="},
	{17, "192.168.1.52", "8.8.8.8", 54585, 53, "1:d/FP5EW3wiY1vCndhwleRRKHowQ="},
	{17, "8.8.8.8", "192.168.1.52", 53, 54585, "1:d/FP5EW3wiY1vCndhwleRRKHowQ="},
	{46, "10.1.12.1", "10.1.12.2", 0, 0, "1:KHlLkgoJW7ifUTyTSgyVfkFHzKw="},
	{46, "10.1.12.2", "10.1.12.1", 0, 0, "1:KHlLkgoJW7ifUTyTSgyVfkFHzKw="},
	{iana.ProtoTCP, "10.0.0.1", "10.0.0.2", 0, 0, ""}, // a fragment
	// As tshark 4.0.17 has them.
	{iana.ProtoUDPLite, "10.0.0.1", "10.0.0.2", 4096, 8192, "1:b6inBXxTF9s3pLDLY55gSafFr9g="},
	{iana.ProtoUDPLite, "10.0.0.2", "10.0.0.1", 8192, 4096, "1:b6inBXxTF9s3pLDLY55gSafFr9g="},
	{iana.ProtoUDPLite, "10.0.0.1", "10.0.0.2", 0, 0, ""},
	{iana.ProtoDCCP, "10.0.0.1", "10.0.0.2", 4096, 8192, "1:qKfrGVs14/VI2wLMVfhXXHfa6a0="},
	{iana.ProtoDCCP, "10.0.0.2", "10.0.0.1", 8192, 4096, "1:qKfrGVs14/VI2wLMVfhXXHfa6a0="},
	{iana.ProtoTCP, "10.0.0.1", "2001:db8::1", 1, 2, ""},
}

func TestCommunityID(t *testing.T) {
	for _, v := range communityVectors {
		src, dst := netip.MustParseAddr(v.src), netip.MustParseAddr(v.dst)
		if got := string(AppendCommunityID(nil, src, dst, v.proto, v.srcPort, v.dstPort)); got != v.want {
			t.Errorf("%+v: %s", v, got)
		}
		if got, want := communityOfKey(src, dst, v.proto, v.srcPort, v.dstPort), v.want; got != want && v.proto != iana.ProtoICMP && v.proto != iana.ProtoICMPv6 && src.BitLen() == dst.BitLen() {
			t.Errorf("key of %+v: %s", v, got)
		}
	}
	if got := string(AppendCommunityID(nil, netip.Addr{}, netip.Addr{}, iana.ProtoUDP, 1, 2)); got != "" {
		t.Errorf("without addresses: %s", got)
	}
}

// communityOfKey makes a key and returns its Community ID.
func communityOfKey(src, dst netip.Addr, proto uint8, srcPort, dstPort uint16) string {
	tail := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, srcPort), dstPort)
	c := Config{Kind: Biflow}
	if src.Is4() {
		var key [16]byte
		copy(key[:], src.AsSlice())
		copy(key[dst4:], dst.AsSlice())
		copy(key[tail4:], append(tail, proto))
		return c.CommunityID16(key)
	}
	var key [48]byte
	copy(key[:], src.AsSlice())
	copy(key[dst6:], dst.AsSlice())
	copy(key[tail6:], append(tail, proto))
	return c.CommunityID48(key)
}

// TestCommunityIDOfKeys leaves it out of keys that are not of a single flow.
func TestCommunityIDOfKeys(t *testing.T) {
	var key [16]byte
	copy(key[:], "\x0a\x00\x00\x01\x0a\x00\x00\x02\x00\x01\x00\x02\x06")
	for _, c := range []struct {
		cfg  Config
		some bool
	}{{Config{Kind: Flow}, true}, {Config{Kind: Biflow}, true}, {Config{Kind: Flow, Mask4: 32}, true}, {Config{Kind: Flow, Mask4: 24}, false}, {Config{Kind: Pair}, false}, {Config{Kind: Src}, false}} {
		if got := c.cfg.CommunityID16(key); (got != "") != c.some {
			t.Errorf("%+v: %q", c.cfg, got)
		}
	}
	key[tail4+4] = iana.ProtoICMP
	if got := (Config{Kind: Flow}).CommunityID16(key); got != "" {
		t.Errorf("ICMP: %q", got)
	}
}
