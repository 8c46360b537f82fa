// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
)

const zeros = "00000000000000000000000000000000"

func TestParseSecret(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{strings.Repeat("0123456789abcdef", 4), strings.Repeat("0123456789abcdef", 4)},
		{strings.Repeat("ABCDEF0123456789", 4), strings.Repeat("abcdef0123456789", 4)},
		// AES-128 under the zero key of the blocks 0 and 1 (little-endian).
		{zeros, "66e94bd4ef8a2c3b884cfa59ca342b2e" + "47711816e91d6ff059bbbf2bf58e0fd3"},
	} {
		s, err := ParseSecret(c.text)
		if got := hex.EncodeToString(s[:]); err != nil || got != c.want {
			t.Errorf("ParseSecret(%q) = %s, %v, want %s", c.text, got, err, c.want)
		}
	}
	for _, text := range []string{"", "00", zeros[:31], zeros + "00", zeros + zeros + "00", strings.Repeat("xy", 16), strings.Repeat("0 ", 32)} {
		_, err := ParseSecret(text)
		if !errors.Is(err, ErrConfig) || text != "" && strings.Contains(err.Error(), text) {
			t.Errorf("ParseSecret(%q): error %v, want ErrConfig without the text", text, err)
		}
	}
}

// TestDerivedKeys pins the keys, which digests of different machines rely on.
func TestDerivedKeys(t *testing.T) {
	s, err := ParseSecret(zeros + zeros)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]string{}
	for use, want := range map[Use]string{
		UsePackets:     "5275f3d86b4fb8684593133ebfa53cd3",
		UseIPv4:        "779b38d15bffb63d8d609d551a5cc98e",
		UseIPv6:        "39d6e9ae76a9b2f3fc462680f766720e",
		UseMAC:         "75d11b0e3a68c4223d88dbf017977dd7",
		UsePermutation: "845c7d4690fa594f90e67f7b5211a51a",
		UseOwn:         "37bff99ff2f7aa97779e4adf6f13fb10",
	} {
		key := s.AESKey(use)
		got := hex.EncodeToString(key[:])
		if got != want {
			t.Errorf("key %d = %s, want %s", use, got, want)
		}
		known[got] = want
	}
	key := s.HighwayKey()
	want := "6f871f445c18afc2f8937af841fd2ad0ce24211a1cbd6fb046b51a8a607c479d"
	if got := hex.EncodeToString(key[:]); got != want {
		t.Errorf("HighwayHash key = %s, want %s", got, want)
	}
	known[hex.EncodeToString(key[:16])], known[hex.EncodeToString(key[16:])] = "", ""
	if len(known) != 8 {
		t.Error("keys of different uses are equal")
	}
}

func TestRandomSecret(t *testing.T) {
	a, err := RandomSecret()
	b, err2 := RandomSecret()
	if errors.Join(err, err2) != nil || a == b || a == (Secret{}) {
		t.Errorf("random secrets: %v, %v", err, err2)
	}
	if text := fmt.Sprintf("%v %s", a, a); text != "secret secret" {
		t.Errorf("a secret prints as %q", text)
	}
}
