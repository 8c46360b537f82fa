// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// user is a key that the NATS server accepts, with the subjects that it may use. Without
// any subject it may use all.
type user struct {
	who, key           string
	site               string // empty for the hub itself
	publish, subscribe []string
}

// access returns the users of the server. The hub has two keys. The first keeps
// leases, slices and journals, and receives the requests of administrators. The second
// one receives the sites' requests, and may only answer into inboxes of sites: whatever a
// site requests, the hub's answer can reach nothing but such an inbox.
func (f *Folder) access(s Settings) ([]user, error) {
	seed, err := f.hubSeed()
	if err != nil {
		return nil, err
	}
	answers, err := answersSeed(seed)
	if err != nil {
		return nil, err
	}
	all := []user{
		{who: "flowdedup-hub"},
		{who: "flowdedup-hub, its answers to sites", publish: []string{hubclient.Inbox("*") + ".>"}, subscribe: []string{"fd." + s.Namespace + ".>"}},
	}
	for i, seed := range [][]byte{seed, answers} {
		if all[i].key, err = publicKey(seed); err != nil {
			return nil, err
		}
	}
	sites, err := f.Sites()
	if err != nil {
		return nil, err
	}
	for _, site := range slices.Sorted(maps.Keys(sites)) {
		publish, subscribe := sitePermissions(s.Namespace, site)
		all = append(all, user{"site " + site, sites[site], site, publish, subscribe})
	}
	return all, nil
}

// sitePermissions are the subjects that a site may publish to, and subscribe: requests,
// reports and counts under its own name, and its own answers. So no site can pose as a different site.
func sitePermissions(namespace, site string) (publish, subscribe []string) {
	return []string{
		"fd." + namespace + ".*.*.*.*." + site,
		"fd." + namespace + ".*.*.report." + site,
		"fd." + namespace + ".*.*.counts." + site,
	}, []string{hubclient.Inbox(site) + ".>"}
}

// controlInbox begins the inboxes of the hub's first key. It is not a site's inbox.
const controlInbox = "_HUB"

// answersSeed returns the seed of the key that answers sites. It is derived from the
// hub's seed, so all hubs of a filter have it.
func answersSeed(seed []byte) ([]byte, error) {
	_, raw, err := nkeys.DecodeSeed(seed)
	if err != nil {
		return nil, fmt.Errorf("%w: the hub's key: %w", ErrFolder, err)
	}
	if raw, err = hkdf.Key(sha256.New, raw, nil, "flowdedup-hub answers", sha256.Size); err != nil {
		return nil, err
	}
	return nkeys.EncodeSeed(nkeys.PrefixByteUser, raw)
}

// permissions returns the user's permissions at the embedded server, nil for all.
func (u *user) permissions() *server.Permissions {
	if u.publish == nil {
		return nil
	}
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: u.publish},
		Subscribe: &server.SubjectPermission{Allow: u.subscribe},
	}
}

// Users returns a block for the configuration of an external NATS server: the hub and all
// sites, with their permissions. A new site needs a new block.
func (f *Folder) Users(s Settings) (string, error) {
	access, err := f.access(s)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("authorization {\n  users = [\n")
	for _, u := range access {
		fmt.Fprintf(&b, "    # %s\n    { nkey: %s", u.who, u.key)
		if u.publish != nil {
			fmt.Fprintf(&b, ", permissions: { publish: [%s], subscribe: [%s] }", quoted(u.publish), quoted(u.subscribe))
		}
		b.WriteString(" }\n")
	}
	b.WriteString("  ]\n}\n")
	return b.String(), nil
}

func quoted(words []string) string { return `"` + strings.Join(words, `", "`) + `"` }
