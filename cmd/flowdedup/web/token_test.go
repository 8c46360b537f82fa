// SPDX-License-Identifier: Apache-2.0

package web

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestToken asks a server for its paths with each token, as a bearer and as a password, and again with
// a new token in the file.
func TestToken(t *testing.T) {
	name := filepath.Join(t.TempDir(), "tokens")
	const all, metrics, renewed = "0123456789abcdef", "fedcba9876543210", "00000000000000001"
	write := func(text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(all + "\n" + metrics + "\n")
	s, err := Listen("0", name, Content{
		Page: func(io.Writer, bool) error { return nil }, Health: func() Health { return Health{Status: healthy} }, Metrics: func(io.Writer) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	ask := func(path, scheme, token string) int {
		r, err := http.NewRequest(http.MethodGet, "http://"+s.Addr().String()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		switch scheme {
		case "bearer":
			r.Header.Set("Authorization", "Bearer "+token)
		case "basic":
			r.SetBasicAuth("anybody", token)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if asks := answer.Header.Get("WWW-Authenticate") != ""; asks != (answer.StatusCode == http.StatusUnauthorized) || answer.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %v", path, answer.Header)
		}
		return answer.StatusCode
	}
	for _, path := range []string{"/", "/metrics", "/healthz", "/none"} {
		found := http.StatusOK
		if path == "/none" {
			found = http.StatusNotFound
		}
		of := func(ok bool) int {
			if ok {
				return found
			}
			return http.StatusUnauthorized
		}
		few := path == "/metrics" || path == "/healthz"
		for _, scheme := range []string{"bearer", "basic", "none"} {
			some := scheme != "none"
			for token, ok := range map[string]bool{all: some, metrics: some && few, all[:15]: false, "": false, all + "0": false, all + "\n": false} {
				if strings.HasSuffix(token, "\n") && scheme == "bearer" {
					continue // no header has it
				}
				if got := ask(path, scheme, token); got != of(ok) {
					t.Errorf("%s, %s %q: %d, want %d", path, scheme, token, got, of(ok))
				}
			}
		}
	}
	write(renewed)
	if old, now := ask("/", "bearer", all), ask("/", "bearer", renewed); old != http.StatusUnauthorized || now != http.StatusOK {
		t.Errorf("a new token: %d with the old, %d with it", old, now)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if got := ask("/", "bearer", renewed); got != http.StatusUnauthorized {
		t.Errorf("%d without the file", got)
	}
}

// TestTokenFiles refuses files without a token that nobody guesses.
func TestTokenFiles(t *testing.T) {
	for text, ok := range map[string]bool{
		"": false, "\n": false, "short\n": false, strings.Repeat("x", 16): true, strings.Repeat("x", 16) + "\r\n" + strings.Repeat("y", 16) + "\r\n": true,
		strings.Repeat("x", 16) + "\nshort": false, strings.Repeat(strings.Repeat("x", 16)+"\n", 3): false,
	} {
		name := filepath.Join(t.TempDir(), "tokens")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Listen("0", name, Content{})
		if err == nil {
			s.Close()
		}
		if (err == nil) != ok || err != nil && (!errors.Is(err, ErrToken) || !strings.Contains(err.Error(), name)) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := Listen("0", filepath.Join(t.TempDir(), "none"), Content{}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
