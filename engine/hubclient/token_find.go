// SPDX-License-Identifier: Apache-2.0

package hubclient

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// TokenVariable is the environment variable with the token if the user names a server
// instead.
const TokenVariable = "FLOWDEDUP_TOKEN"

// maxToken bounds the size of a file with a token.
const maxToken = 1 << 20

// tokenLike matches tokens of all versions.
var tokenLike = regexp.MustCompile(`^fd[0-9]+:`)

// FindToken returns the token that a user gives: as text, by the name of a file that
// contains it, or by the URL of a server, with the token in TokenVariable. Errors about
// the text of a token wrap ErrToken.
func FindToken(where string) (Token, error) {
	switch {
	case tokenLike.MatchString(where):
		return DecodeToken(where)
	case strings.Contains(where, "://"):
		line := os.Getenv(TokenVariable)
		if line == "" {
			return Token{}, fmt.Errorf("%s is a server, and $%s has no token for it: make one with flowdedup-hub join-token SITE", where, TokenVariable)
		}
		token, err := DecodeToken(line)
		token.URL = where
		return token, err
	}
	info, err := os.Stat(where)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxToken {
		return Token{}, fmt.Errorf("%q is no token, no file that has one, and no URL: make a token with flowdedup-hub join-token SITE", where)
	}
	text, err := os.ReadFile(where)
	if err != nil {
		return Token{}, err
	}
	return DecodeToken(string(text))
}
