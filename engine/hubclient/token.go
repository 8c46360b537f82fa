// SPDX-License-Identifier: Apache-2.0

package hubclient

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// ErrToken is wrapped by errors about the text of a token.
var ErrToken = errors.New("bad token")

// tokenPrefix begins tokens of this version.
const tokenPrefix = "fd1:"

// maxSlices bounds the slices of a filter: three digits of a subject.
const maxSlices = 1000

// Token is everything that a site needs to join a hub. Identity, Key and Window are the
// same for all sites: packets must have equal digests at all of them, or no copies are
// found. It is a secret.
type Token struct {
	URL       string `json:"url"`            // of the server, such as nats://10.0.0.1:4222; several with commas
	Namespace string `json:"ns"`             //
	Site      string `json:"site"`           // the site that the token is for
	Seed      string `json:"seed,omitempty"` // of the site's NKey; empty for servers that ask for none
	Filter    string `json:"filter"`         //
	Epoch     uint32 `json:"epoch"`          // version of the layout of slices
	Slices    int    `json:"slices"`         // number of slices
	Key       []byte `json:"key"`            // secret of digests, 32 bytes
	WindowUS  int64  `json:"window_us"`      // microseconds between a packet and its copies
	// Identity defines equal packets, as in --identity, such as "l3". Empty is "l3".
	Identity string `json:"identity,omitempty"`
	// Ignore are fields that the identity leaves out in addition to the usual fields, as in
	// --ignore.
	Ignore string `json:"ignore,omitempty"`
	// Within restricts copies to packets of the same points, as in --within: "vlan",
	// "vni" or both with a comma, perhaps with groups such as "vlan:10+110".
	Within string `json:"within,omitempty"`
	// Tunnels are UDP ports and what comes to them, as in --tunnel, sorted by port. Empty are the
	// usual tunnels.
	Tunnels string `json:"tunnels,omitempty"`
	CA      string `json:"ca,omitempty"` // certificates (PEM) of the CA that must have signed the server's; else the system's
}

// Window returns the longest time between a packet and its copies.
func (t Token) Window() time.Duration { return time.Duration(t.WindowUS) * time.Microsecond }

// Encode returns the token as one line. It is for DecodeToken.
func (t Token) Encode() string {
	text, err := json.Marshal(t)
	if err != nil {
		panic("hubclient: " + err.Error()) // strings, numbers and bytes always encode
	}
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(text)
}

// DecodeToken reads a token. Errors wrap ErrToken, and reveal nothing of it.
func DecodeToken(line string) (Token, error) {
	body, ok := strings.CutPrefix(strings.TrimSpace(line), tokenPrefix)
	if !ok {
		if strings.HasPrefix(line, "fd") && strings.Contains(line, ":") {
			return Token{}, fmt.Errorf("%w: it is of another version", ErrToken)
		}
		return Token{}, fmt.Errorf("%w: it does not begin with %s", ErrToken, tokenPrefix)
	}
	text, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(body, "="))
	if err != nil {
		return Token{}, fmt.Errorf("%w: characters are missing or wrong", ErrToken)
	}
	var t Token
	if err := json.Unmarshal(text, &t); err != nil {
		return Token{}, fmt.Errorf("%w: characters are missing or wrong", ErrToken)
	}
	return t, t.check()
}

// check checks the fields of a token.
func (t Token) check() error {
	switch {
	case t.URL == "":
		return fmt.Errorf("%w: no url", ErrToken)
	case !ValidName(t.Namespace) || !ValidName(t.Filter) || !ValidName(t.Site):
		return fmt.Errorf("%w: names of namespace, filter and site have 1 to %d letters, digits, - and _", ErrToken, maxName)
	case t.Slices < 1 || t.Slices > maxSlices:
		return fmt.Errorf("%w: %d slices, want 1 to %d", ErrToken, t.Slices, maxSlices)
	case len(t.Key) != 32:
		return fmt.Errorf("%w: a key of %d bytes, want 32", ErrToken, len(t.Key))
	case t.WindowUS < 1 || t.WindowUS > int64(24*time.Hour/time.Microsecond):
		return fmt.Errorf("%w: window_us %d, want 1 to a day", ErrToken, t.WindowUS)
	}
	return nil
}

// KeyCheck returns the digest that a Ping must have: it is the same for all sites with
// the same key and identity, and reveals nothing about the key. rule is another for programs that give
// an identity of the same name other digests.
func (t Token) KeyCheck() uint64 {
	const rule = 2 // 1 compared DF
	mac := hmac.New(sha256.New, t.Key)
	fmt.Fprintf(mac, "flowdedup key check %d %q %q %q", rule, t.Identity, t.Ignore, t.Within)
	if t.Tunnels != "" {
		fmt.Fprintf(mac, " %q", t.Tunnels)
	}
	return binary.LittleEndian.Uint64(mac.Sum(nil)) & digestMask
}

// TokenVariable is the environment variable with the token if the user names a server
// instead.
const TokenVariable = "FLOWDEDUP_TOKEN"

// maxToken bounds the size of a file with a token.
const maxToken = 1 << 20

// tokenLike reports whether a text begins as tokens of all versions.
func tokenLike(text string) bool {
	number, _, ok := strings.Cut(text, ":")
	number, fd := strings.CutPrefix(number, "fd")
	return ok && fd && number != "" && strings.Trim(number, "0123456789") == ""
}

// FindToken returns the token that a user gives: as text, by the name of a file that
// contains it, or by the URL of a server, with the token in TokenVariable. Errors about
// the text of a token wrap ErrToken.
func FindToken(where string) (Token, error) {
	switch {
	case tokenLike(where):
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
