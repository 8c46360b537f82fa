// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/engine/cluster/chain"
	"github.com/flowdedup/flowdedup/engine/cluster/slice"
	"github.com/flowdedup/flowdedup/engine/hubclient"
	"github.com/flowdedup/flowdedup/engine/window"
)

// Errors about folders.
var (
	// ErrFolder is wrapped by the errors about a folder's content.
	ErrFolder = errors.New("state folder")
	// ErrSites says that there are as many sites as a hub serves.
	ErrSites = errors.New("too many sites")
	// ErrNoFolder says that there is no hub in a folder.
	ErrNoFolder = fmt.Errorf("%w: no hub has been started with it", ErrFolder)
	// ErrName is about names that cannot be words of subjects.
	ErrName = errors.New("names have 1 to 64 letters, digits, - and _")
	// ErrNoSite is about sites that have no key.
	ErrNoSite = errors.New("no such site")
)

// settingsVersion is the version of the files of a folder.
const settingsVersion = 1

// Settings are a hub's stored settings. Sites get most of them in their tokens.
type Settings struct {
	Version   int    `json:"version"`
	ID        string `json:"id"` // of the hub of this folder, among others
	Namespace string `json:"namespace"`
	Filter    string `json:"filter"`
	Epoch     uint32 `json:"epoch"` // rises when tokens become invalid
	Slices    int    `json:"slices"`
	WindowUS  int64  `json:"window_us"`
	// Shape is the filter. The zero value stands for rows of digests, in horizontal slices.
	Shape    chain.Shape `json:"shape,omitzero"`
	Identity string      `json:"identity"`          // which packets are equal
	Ignore   string      `json:"ignore,omitempty"`  // fields that the identity leaves out, too
	Within   string      `json:"within,omitempty"`  // kinds of points: only packets of the same point are copies
	Tunnels  string      `json:"tunnels,omitempty"` // UDP ports and what comes to them, besides the usual tunnels
	Key      []byte      `json:"key"`               // of digests, for all sites
	Listen   string      `json:"listen"`            // address of the embedded server
	URL      string      `json:"url"`               // where sites reach it; empty follows from Listen
	NATS     string      `json:"nats,omitempty"`    // a server that is not embedded
	CA       string      `json:"ca,omitempty"`
	Journal  bool        `json:"journal,omitempty"` // requests are written down before they are answered
	Joined   bool        `json:"joined,omitempty"`  // the server and its keys are another hub's
	// Parent is the token for asking another hub about elements that are new here, empty
	// for none. ParentWaitUS is how long it waits for the answer, in microseconds.
	Parent       string `json:"parent,omitempty"`
	ParentWaitUS int64  `json:"parent_wait_us,omitempty"`
	// Dense makes a tree of timers dense instead of sparse: elements that the hub above knows are
	// set here, too, for the same time.
	Dense bool `json:"dense,omitempty"`
	// Below has the names of the hubs that ask this hub, and TopDown is how many levels of
	// them have to hold a copy. With 0 none has to.
	Below   []string `json:"below,omitempty"`
	TopDown int      `json:"top_down,omitempty"`
}

// Window returns the time between a packet and its copies.
func (s *Settings) Window() time.Duration { return time.Duration(s.WindowUS) * time.Microsecond }

// checkShape checks the shape of the filter. Errors wrap chain.ErrShape.
func (s *Settings) checkShape() error {
	if s.Shape.Rows() {
		return nil
	}
	if err := s.Shape.Check(); err != nil {
		return err
	}
	if s.Slices != s.Shape.Slices() {
		return fmt.Errorf("%w: %d slices of %d", chain.ErrShape, s.Slices, s.Shape.Slices())
	}
	return nil
}

// entries returns how many slices sites send to: all of them, or the first links of chains.
func (s *Settings) entries() int {
	if s.Shape.Rows() {
		return s.Slices
	}
	return s.Shape.Chains()
}

// defaults are the settings of a new folder.
func defaults() Settings {
	return Settings{
		Version: settingsVersion, Namespace: "main", Filter: "packets", Epoch: 1, Slices: 64,
		WindowUS: window.Default.Microseconds(), Identity: "l3", Listen: ":4222",
	}
}

// Folder is the state of a hub.
type Folder struct {
	path string
}

// The parts of a folder.
const (
	settingsFile = "hub.json"
	hubKeyFile   = "hub.nk"
	sitesFolder  = "sites"
	keySuffix    = ".nk"
)

// OpenFolder opens the folder of a hub. Errors wrap ErrFolder or are of the system.
func OpenFolder(path string) (*Folder, Settings, error) {
	f := &Folder{path: path}
	text, err := os.ReadFile(f.at(settingsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, Settings{}, fmt.Errorf("%w: %s", ErrNoFolder, path)
	} else if err != nil {
		return nil, Settings{}, err
	}
	var s Settings
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, s, fmt.Errorf("%w: %s: %w", ErrFolder, f.at(settingsFile), err)
	}
	if s.Version != settingsVersion {
		return nil, s, fmt.Errorf("%w: %s is of version %d, want %d: another flowdedup-hub has made it", ErrFolder, f.at(settingsFile), s.Version, settingsVersion)
	}
	if _, err := hubclient.DecodeToken(s.token("any", "").Encode()); err != nil {
		return nil, s, fmt.Errorf("%w: %s: %w", ErrFolder, f.at(settingsFile), err)
	}
	if err := cmp.Or(s.checkShape(), s.CheckParent(), s.CheckBelow()); err != nil {
		return nil, s, fmt.Errorf("%w: %s: %w", ErrFolder, f.at(settingsFile), err)
	}
	return f, s, nil
}

// MakeFolder opens a folder, and makes it if there is none.
func MakeFolder(path string) (*Folder, Settings, error) {
	f, s, err := OpenFolder(path)
	if !errors.Is(err, ErrNoFolder) {
		return f, s, err
	}
	f, s = &Folder{path: path}, defaults()
	s.ID = newID()
	s.Key = make([]byte, 32)
	if _, err := rand.Read(s.Key); err != nil {
		return nil, s, err
	}
	if err := os.MkdirAll(f.at(sitesFolder), 0o700); err != nil {
		return nil, s, err
	}
	if _, err := f.seed(hubKeyFile, true); err != nil {
		return nil, s, err
	}
	return f, s, f.Save(s)
}

// newID returns an identifier that distinguishes a hub from others.
func newID() string { return strings.ToLower(rand.Text()) }

func (f *Folder) at(parts ...string) string {
	return filepath.Join(append([]string{f.path}, parts...)...)
}

// Lock keeps other hubs from using the folder, until it is unlocked or the process ends.
func (f *Folder) Lock() (*outfile.Lock, error) {
	lock, err := outfile.LockName(f.at(settingsFile))
	if errors.Is(err, outfile.ErrLocked) {
		return nil, fmt.Errorf("%w: %s is in use by another flowdedup-hub: %w", ErrFolder, f.path, err)
	}
	return lock, err
}

// Save writes the settings.
func (f *Folder) Save(s Settings) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return f.write(settingsFile, append(text, '\n'))
}

// write replaces a file, or leaves it as it was. Others must not read it: it may hold keys.
func (f *Folder) write(name string, content []byte) error {
	temporary := f.at(name + ".new")
	file, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err = errors.Join(err, f.give(file), file.Sync(), file.Close()); err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	return os.Rename(temporary, f.at(name))
}

// seed returns the seed of an NKey. If there is none and create is set, it makes one.
func (f *Folder) seed(name string, create bool) ([]byte, error) {
	text, err := os.ReadFile(f.at(name))
	if err == nil {
		seed := []byte(strings.TrimSpace(string(text)))
		if _, err := publicKey(seed); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrFolder, f.at(name), err)
		}
		return seed, nil
	}
	if !create || !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	keys, err := nkeys.CreateUser()
	if err != nil {
		return nil, err
	}
	seed, err := keys.Seed()
	if err != nil {
		return nil, err
	}
	return seed, f.write(name, append(slices.Clone(seed), '\n'))
}

// publicKey returns the public key of a user's seed.
func publicKey(seed []byte) (string, error) {
	keys, err := nkeys.FromSeed(seed)
	if err != nil {
		return "", err
	}
	return keys.PublicKey()
}

// hubSeed returns the seed of the hub's own key.
func (f *Folder) hubSeed() ([]byte, error) { return f.seed(hubKeyFile, false) }

// siteFile returns the file of a site's key.
func siteFile(site string) string { return filepath.Join(sitesFolder, site+keySuffix) }

// Join returns the token of a site, and makes its key at the first call. Errors wrap ErrName,
// ErrJoined, ErrSites or ErrFolder, or are of the system.
func (f *Folder) Join(s Settings, site string) (hubclient.Token, error) {
	if !hubclient.ValidName(site) {
		return hubclient.Token{}, fmt.Errorf("%w: %q", ErrName, site)
	}
	if s.Joined {
		return hubclient.Token{}, ErrJoined
	}
	names, err := f.siteNames()
	if err != nil {
		return hubclient.Token{}, err
	}
	if len(names) >= slice.MaxSites && !slices.Contains(names, site) {
		return hubclient.Token{}, fmt.Errorf("%w: %d have tokens: remove one", ErrSites, len(names))
	}
	seed, err := f.seed(siteFile(site), true)
	return s.token(site, string(seed)), err
}

// Remove makes the token of a site invalid.
func (f *Folder) Remove(site string) error {
	if !hubclient.ValidName(site) {
		return fmt.Errorf("%w: %q", ErrName, site)
	}
	err := os.Remove(f.at(siteFile(site)))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s", ErrNoSite, site)
	}
	return err
}

// Sites returns the public keys of all sites, by their names.
func (f *Folder) Sites() (map[string]string, error) {
	entries, err := os.ReadDir(f.at(sitesFolder))
	if err != nil {
		return nil, err
	}
	keys := map[string]string{}
	for _, e := range entries {
		site, ok := strings.CutSuffix(e.Name(), keySuffix)
		if !ok || !hubclient.ValidName(site) {
			continue
		}
		seed, err := f.seed(siteFile(site), false)
		if err != nil {
			return nil, err
		}
		if keys[site], err = publicKey(seed); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// siteNames returns the names of Sites without their keys, sorted.
func (f *Folder) siteNames() (names []string, err error) {
	entries, err := os.ReadDir(f.at(sitesFolder))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if site, ok := strings.CutSuffix(e.Name(), keySuffix); ok && hubclient.ValidName(site) {
			names = append(names, site)
		}
	}
	slices.Sort(names)
	return names, nil
}

// token returns a site's token.
func (s *Settings) token(site, seed string) hubclient.Token {
	return hubclient.Token{
		URL: s.SiteURL(), Namespace: s.Namespace, Site: site, Seed: seed, Filter: s.Filter, Epoch: s.Epoch,
		Slices: s.entries(), Key: s.Key, WindowUS: s.WindowUS, Identity: s.Identity, Ignore: s.Ignore, Within: s.Within, Tunnels: s.Tunnels, CA: s.CA,
	}
}
