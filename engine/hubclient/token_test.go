// SPDX-License-Identifier: Apache-2.0

package hubclient

import (
	"encoding/base64"
	"errors"
	"reflect"
	"strings"
	"testing"
)

// someToken returns a token.
func someToken() Token {
	return Token{
		URL: "nats://10.0.0.1:4222", Namespace: "main", Site: "paris-1", Seed: "SUAB", Filter: "packets", Epoch: 1, Slices: 64,
		Key: make([]byte, 32), WindowUS: 1000, Identity: "l3",
	}
}

func TestToken(t *testing.T) {
	want := someToken()
	line := want.Encode()
	for _, text := range []string{line, line + "\n", line + "=="} {
		if got, err := DecodeToken(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
	}
}

func TestTokenErrors(t *testing.T) {
	json := func(text string) string { return tokenPrefix + base64.RawURLEncoding.EncodeToString([]byte(text)) }
	change := func(change func(*Token)) string {
		token := someToken()
		change(&token)
		return token.Encode()
	}
	line := change(func(*Token) {})
	for name, text := range map[string]string{
		"nothing":                 "",
		"another version":         "fd2:" + line[4:],
		"an address":              "nats://hub:4222",
		"cut short":               line[:len(line)-9],
		"no base64":               "fd1:{}",
		"no JSON":                 json("fd"),
		"of another type":         json(`{"url":1}`),
		"empty":                   json("{}"),
		"a site of two words":     change(func(t *Token) { t.Site = "a.b" }),
		"a site of all":           change(func(t *Token) { t.Site = "*" }),
		"no namespace":            change(func(t *Token) { t.Namespace = "" }),
		"a long name of a filter": change(func(t *Token) { t.Filter = strings.Repeat("f", 65) }),
		"no slices":               change(func(t *Token) { t.Slices = 0 }),
		"too many slices":         change(func(t *Token) { t.Slices = 1001 }),
		"a short key":             change(func(t *Token) { t.Key = t.Key[1:] }),
		"no window":               change(func(t *Token) { t.WindowUS = 0 }),
		"a window of years":       change(func(t *Token) { t.WindowUS = 1 << 60 }),
	} {
		if _, err := DecodeToken(text); !errors.Is(err, ErrToken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSubject(t *testing.T) {
	want := Subject{Namespace: "main", Filter: "packets", Epoch: 12, Slice: 7, Op: TestAndSet, Site: "paris-1"}
	text := "fd.main.packets.12.s007.tas.paris-1"
	if got := want.String(); got != text {
		t.Errorf("%s, want %s", got, text)
	}
	if got, ok := ParseSubject(text); !ok || got != want {
		t.Errorf("%+v, %v, want %+v", got, ok, want)
	}
	if got := want.Report(); got != "fd.main.packets.12.report.paris-1" {
		t.Error(got)
	}
	want.Slice, text = allSlices, "fd.main.packets.12.all.tas.paris-1"
	if got, ok := ParseSubject(text); !ok || got != want || want.String() != text {
		t.Errorf("%+v, %v, want %+v", got, ok, want)
	}
	for _, bad := range []string{
		"", "fd", want.Report(), "fd.main.packets.12.s007.tas", "fd.main.packets.12.s007.tas.paris-1.more", "fx.main.packets.12.s007.tas.paris-1",
		"fd.main.packets.-1.s007.tas.paris-1", "fd.main.packets.12.s+07.tas.paris-1", "fd.main.packets.12.7007.tas.paris-1",
		"fd.main.packets.12.s007.unknown.paris-1", "fd..packets.12.s007.tas.paris-1", "fd.main.packets.12.s007.tas.>",
	} {
		if got, ok := ParseSubject(bad); ok {
			t.Errorf("%q is read as %+v", bad, got)
		}
	}
}

func TestReport(t *testing.T) {
	want := Report{Packets: 1 << 60, CopiesLocal: 2, CopiesHub: 3, Unchecked: 4, RTTP99US: 812.5, Run: "x"}
	if got, err := DecodeReport(want.Encode()); err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	if _, err := DecodeReport([]byte("{")); !errors.Is(err, ErrMessage) {
		t.Error(err)
	}
}

func FuzzToken(f *testing.F) {
	f.Add(someToken().Encode())
	f.Add("fd1:e30")
	f.Fuzz(func(t *testing.T, line string) {
		token, err := DecodeToken(line)
		if err != nil {
			if !errors.Is(err, ErrToken) {
				t.Error(err)
			}
			return
		}
		if again, err := DecodeToken(token.Encode()); err != nil || !reflect.DeepEqual(again, token) {
			t.Errorf("%+v becomes %+v, %v", token, again, err)
		}
	})
}
