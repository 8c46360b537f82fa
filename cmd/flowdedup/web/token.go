// SPDX-License-Identifier: Apache-2.0

package web

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

// ErrToken is wrapped by errors about a file of tokens that has none.
var ErrToken = errors.New("no token")

const (
	leastToken = 16      // letters: a shorter token could be guessed
	tokenBytes = 4 << 10 // a file of tokens has no more
)

// readTokens reads a file of tokens: for all paths, and in a second line for /metrics and /healthz alone.
func readTokens(name string) (tokens []string, err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, tokenBytes))
	if err != nil {
		return nil, err
	}
	tokens = strings.Fields(string(text))
	if len(tokens) == 0 || len(tokens) > 2 {
		return nil, fmt.Errorf("%s: %w: it needs a line, or two, without spaces", name, ErrToken)
	}
	for _, token := range tokens {
		if len(token) < leastToken {
			return nil, fmt.Errorf("%s: %w of at least %d letters: take one of openssl rand -hex 16", name, ErrToken, leastToken)
		}
	}
	return tokens, nil
}

// onlyWithToken answers requests with a token of the file: as a bearer (RFC 6750), or as the
// password of any user (RFC 7617), which browsers ask for. It reads the file for each request, so
// that a new token counts at once.
func onlyWithToken(name string, h http.Handler) http.Handler {
	if name == "" {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tokens, err := readTokens(name)
		if err == nil && allows(tokens, r) {
			h.ServeHTTP(w, r)
			return
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="flowdedup", charset="UTF-8"`)
		refuse(w, r, "A token is needed: as a bearer, or as the password.", http.StatusUnauthorized)
	})
}

// allows reports whether a request has a token for its path. The time that it takes says nothing
// about tokens.
func allows(tokens []string, r *http.Request) bool {
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		_, given, ok = r.BasicAuth()
	}
	if r.URL.Path != "/metrics" && r.URL.Path != "/healthz" {
		tokens = tokens[:1]
	}
	sum, equal := sha256.Sum256([]byte(given)), 0
	for _, token := range tokens {
		want := sha256.Sum256([]byte(token))
		equal |= subtle.ConstantTimeCompare(sum[:], want[:])
	}
	return ok && equal == 1
}
