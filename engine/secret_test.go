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
		if !errors.Is(err, ErrSecret) || text != "" && strings.Contains(err.Error(), text) {
			t.Errorf("ParseSecret(%q): error %v, want ErrSecret without the text", text, err)
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
	for use, want := range map[KeyUse]string{
		KeyPackets: "", KeyIPv4: "", KeyIPv6: "", KeyMAC: "", KeyBijection: "",
	} {
		key := s.AESKey(use)
		got := hex.EncodeToString(key[:])
		if got != want {
			t.Errorf("key %d = %s, want %s", use, got, want)
		}
		known[got] = want
	}
	key := s.HighwayKey()
	want := ""
	if got := hex.EncodeToString(key[:]); got != want {
		t.Errorf("HighwayHash key = %s, want %s", got, want)
	}
	known[hex.EncodeToString(key[:16])], known[hex.EncodeToString(key[16:])] = "", ""
	if len(known) != 7 {
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
