// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// Errors about hubs that join others.
var (
	// ErrInvitation is about a line that is no invitation.
	ErrInvitation = errors.New("this is no line of flowdedup-hub hub-token")
	// ErrJoined says that keys are made elsewhere.
	ErrJoined = errors.New("this hub has joined another one: keys of sites are made there")
)

// invitationPrefix begins invitations of this version.
const invitationPrefix = "fdhub1:"

// invitation is everything that another hub of the filter needs.
type invitation struct {
	Settings Settings `json:"settings"`
	Seed     string   `json:"seed"`
}

// Invite returns a line with which another hub joins the hubs of the folder. It is a
// secret.
func (f *Folder) Invite(s Settings) (string, error) {
	seed, err := f.hubSeed()
	if err != nil {
		return "", err
	}
	s.NATS, s.URL, s.ID, s.Joined = s.SiteURL(), "", "", true
	text, err := json.Marshal(invitation{s, string(seed)})
	return invitationPrefix + base64.RawURLEncoding.EncodeToString(text), err
}

// Accept makes a folder by an invitation. There must be none yet. Errors wrap
// ErrInvitation or ErrFolder, or are of the system.
func Accept(path, line string) (*Folder, Settings, error) {
	var in invitation
	body, ok := strings.CutPrefix(strings.TrimSpace(line), invitationPrefix)
	text, err := base64.RawURLEncoding.DecodeString(body)
	if !ok || err != nil || json.Unmarshal(text, &in) != nil || in.Settings.Version != settingsVersion {
		return nil, in.Settings, ErrInvitation
	}
	s := in.Settings
	if _, err := hubclient.DecodeToken(s.token("any", "").Encode()); err != nil {
		return nil, s, ErrInvitation
	}
	if s.checkShape() != nil || s.CheckParent() != nil || s.CheckBelow() != nil {
		return nil, s, ErrInvitation
	}
	if _, err := publicKey([]byte(in.Seed)); err != nil {
		return nil, s, ErrInvitation
	}
	if _, _, err := OpenFolder(path); !errors.Is(err, ErrNoFolder) {
		return nil, s, errors.Join(err, fmt.Errorf("%w: %s has a hub already: start it without --join", ErrFolder, path))
	}
	f := &Folder{path: path}
	s.ID = newID()
	err = os.MkdirAll(f.at(sitesFolder), 0o700)
	if err == nil {
		err = f.write(hubKeyFile, []byte(in.Seed+"\n"))
	}
	if err == nil {
		err = f.Save(s)
	}
	return f, s, err
}
