// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/flowdedup/flowdedup/capture/headers"
)

// Target is an encapsulation, and where it comes.
type Target struct {
	name string // as the user wrote it
	kind *encapsulation
	host netip.AddrPort // the unspecified address takes packets to any address
	ids  []uint32       // that are wanted, sorted; empty for all
}

// encapsulation is a kind of tunnel that mirrored packets come in.
type encapsulation struct {
	scheme string
	port   uint16 // that it usually has; 0 without ports
	layer  headers.LayerKind
	ids    string // the parameter that lists identifiers, or ""
	bits   int    // of an identifier
}

var kinds = []encapsulation{
	{"vxlan", 4789, headers.LayerVXLAN, "vni", 24},
	{"geneve", 6081, headers.LayerGENEVE, "vni", 24},
	{"tzsp", 37008, 0, "", 0},
	{"erspan", 0, headers.LayerGRE, "session", 10},
}

// datagrams takes the place of an encapsulation for a target of datagrams.
var datagrams = encapsulation{scheme: "udp", port: 2055}

// Raw reports whether the target needs CAP_NET_RAW, as it has no port.
func (t *Target) Raw() bool { return t.kind.port == 0 }

// Datagrams returns the target of UDP datagrams that are no mirrored traffic: they become
// packets themselves, with an IP and a UDP header in front that name their sender. The packets
// go to the unspecified address.
func Datagrams(at netip.AddrPort) Target {
	return Target{name: "udp://" + at.String(), kind: &datagrams, host: netip.AddrPortFrom(at.Addr().Unmap(), at.Port())}
}

// ErrTarget is wrapped by errors about the form of a target.
var ErrTarget = errors.New("not a target of mirrored traffic")

// usage says how targets are written.
const usage = "write it as vxlan://:4789, geneve://:6081, tzsp://:37008 or erspan://, with ?vni=1,2 or ?session=1,2 to take only these"

func kindOf(name string) *encapsulation {
	scheme, _, found := strings.Cut(name, "://")
	i := slices.IndexFunc(kinds, func(k encapsulation) bool { return k.scheme == scheme })
	if !found || i < 0 {
		return nil
	}
	return &kinds[i]
}

// IsTarget reports whether a name is a target.
func IsTarget(name string) bool { return kindOf(name) != nil }

// ParseTarget reads vxlan://HOST:PORT, geneve://HOST:PORT, tzsp://HOST:PORT or erspan://HOST.
// HOST is an address of this machine; the default is all addresses. The default of PORT is the
// assigned port. Behind ?vni= or ?session= are the identifiers that are wanted. Its
// errors wrap ErrTarget and name the target.
func ParseTarget(name string) (Target, error) {
	t := Target{name: name, kind: kindOf(name)}
	if t.kind == nil {
		return t, fmt.Errorf("%q: %w: %s", name, ErrTarget, usage)
	}
	u, err := url.Parse(name)
	if err != nil || u.Path != "" || u.User != nil || u.Fragment != "" {
		return t, fmt.Errorf("%q: %w: %s", name, ErrTarget, usage)
	}
	if t.host, err = t.kind.address(u); err != nil {
		return t, fmt.Errorf("%q: %w: %w", name, ErrTarget, err)
	}
	if t.ids, err = t.kind.identifiers(u); err != nil {
		return t, fmt.Errorf("%q: %w: %w", name, ErrTarget, err)
	}
	return t, nil
}

// address reads where to listen.
func (k *encapsulation) address(u *url.URL) (netip.AddrPort, error) {
	host, port := netip.IPv6Unspecified(), uint64(k.port)
	if h := u.Hostname(); h != "" {
		var err error
		if host, err = netip.ParseAddr(h); err != nil {
			return netip.AddrPort{}, errors.New("its host must be an IP address of this machine, or none for all")
		}
	}
	if p := u.Port(); p != "" {
		var err error
		if port, err = strconv.ParseUint(p, 10, 16); err != nil || port == 0 || k.port == 0 {
			return netip.AddrPort{}, errors.New("its port must be a number from 1 to 65535, and ERSPAN has none")
		}
	}
	return netip.AddrPortFrom(host.Unmap(), uint16(port)), nil
}

// identifiers parses the list of wanted identifiers.
func (k *encapsulation) identifiers(u *url.URL) ([]uint32, error) {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, errors.New(usage)
	}
	var all []uint32
	for name, lists := range query {
		if name != k.ids {
			return nil, fmt.Errorf("it takes no %q: %s", name, usage)
		}
		for text := range strings.SplitSeq(strings.Join(lists, ","), ",") {
			n, err := strconv.ParseUint(text, 10, k.bits)
			if err != nil {
				return nil, fmt.Errorf("%s %q: it must be a number below %d", k.ids, text, uint64(1)<<k.bits)
			}
			all = append(all, uint32(n))
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// String returns the target as it was written.
func (t Target) String() string { return t.name }

// wants reports whether packets with an identifier are wanted.
func (t *Target) wants(id uint32) bool {
	if len(t.ids) == 0 {
		return true
	}
	_, found := slices.BinarySearch(t.ids, id)
	return found
}
