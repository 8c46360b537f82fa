package hub

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Users returns a block for the configuration of a NATS server that is not the hub's own:
// the hub and all sites, with what they may do. A later site needs a new one.
func (f *Folder) Users(s Settings) (string, error) {
	seed, err := f.HubSeed()
	if err != nil {
		return "", err
	}
	public, err := publicKey(seed)
	if err != nil {
		return "", err
	}
	sites, err := f.Sites()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "authorization {\n  users = [\n    # flowdedup-hub\n    { nkey: %s }\n", public)
	for _, site := range slices.Sorted(maps.Keys(sites)) {
		publish, subscribe := sitePermissions(s.Namespace, site)
		fmt.Fprintf(&b, "    # site %s\n    { nkey: %s, permissions: { publish: [%s], subscribe: [%s] } }\n",
			site, sites[site], quoted(publish), quoted(subscribe))
	}
	b.WriteString("  ]\n}\n")
	return b.String(), nil
}

func quoted(words []string) string { return `"` + strings.Join(words, `", "`) + `"` }
