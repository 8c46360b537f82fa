// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"
	"strings"

	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/engine/window"
)

// CopyFlags define copies.
type CopyFlags struct {
	Window          window.Window
	Identity        identity.Kind
	IdentityBytes   int
	Ignore          identity.Ignore
	Across, Refresh bool
	Tunnels         *headers.Tunnels
}

// Flags returns the flags that define copies.
func (f *CopyFlags) Flags() []Flag {
	if f.Window == (window.Window{}) {
		f.Window.Duration = window.Default
	}
	return []Flag{
		{Name: "window", Group: GroupCompare, To: NewParsed(&f.Window, f.Window.String(), "window", ParseWindow), Words: []string{"1ms", "100ms", "1s", "n:1000000", "landmark:1h", "none"}, Help: "window of copies: 1ms, n:1000 packets, landmark:1h, none"},
		IdentityFlag(&f.Identity),
		{Name: "identity-bytes", Group: GroupAdvanced, To: &f.IdentityBytes, Help: "compare only the first `N` bytes of the identity (0: all)"},
		IgnoreFlag(&f.Ignore),
		TunnelFlag(&f.Tunnels),
		{Name: "across", Group: GroupCompare, To: &f.Across, Not: []string{"within=interface: --within interface finds copies on one interface only, --across on another only"}, Help: "copies are of other interfaces, inputs or LANs"},
		{Name: "refresh", Group: GroupAdvanced, To: &f.Refresh, Help: "a removed packet restarts the window"},
	}
}

// IdentityFlag returns the flag --identity.
func IdentityFlag(to *identity.Kind) Flag {
	return Flag{Name: "identity", Group: GroupCompare, To: NewParsed(to, "l3", "kind", identity.ParseKind), Words: []string{"frame", "l3", "inner"}, Help: "what makes packets equal: frame, l3, inner"}
}

// IgnoreFlag returns the flag --ignore.
func IgnoreFlag(to *identity.Ignore) Flag {
	return Flag{Name: "ignore", Group: GroupCompare, To: NewList(to, "", "fields", identity.ParseIgnore), Words: append(strings.Split(identity.FieldNames(), ", "), "none"), Help: "additional fields to ignore: " + identity.FieldNames() + "; none: compare all"}
}

// TunnelFlag returns the flag --tunnel.
func TunnelFlag(to **headers.Tunnels) Flag {
	return Flag{Name: "tunnel", Group: GroupInput, To: NewList(to, "", "port=kind", headers.ParseTunnels), Words: []string{"10800=vxlan", "5555=skip:16", "4789=none"}, Needs: []string{"identity=inner inner strip=tunnel slice balance learn hub: nothing else opens tunnels"}, Help: "what comes to a UDP port: 10800=vxlan, 5555=skip:16 (bytes before Ethernet or IP), 4789=none; also " + strings.Join(headers.ToldKinds(), ", ")}
}

// IdentityConfig returns the parts of packets that are compared.
func (f *CopyFlags) IdentityConfig() identity.Config {
	return identity.Config{Kind: f.Identity, Ignore: f.Ignore, Bytes: f.IdentityBytes, Tunnels: f.Tunnels}
}

// WithinFlag names the points that copies have in common, as traits.Points.Words.
type WithinFlag struct{ Within []string }

// withinWords are the fields that it takes.
var withinWords = []string{"vlan", "vni", "interface", "input", "lan"}

// Flag returns the flag.
func (f *WithinFlag) Flag() Flag {
	return Flag{Name: "within", Group: GroupCompare, To: NewList(&f.Within, "", "points", ParseWithin), Words: append(slices.Clone(withinWords), "vlan:10+110"), Help: "only packets of equal points are copies: " + strings.Join(withinWords, ", ") + "; vlan:10+110,20+120 and vni:10+110 join numbers"}
}

// ParseWithin reads a list of points.
func ParseWithin(list string) ([]string, error) {
	points, err := traits.ParsePoints(list)
	if err == nil {
		return points.Words, nil
	}
	for word := range strings.SplitSeq(list, ",") { // with advice
		if name, _, grouped := strings.Cut(strings.TrimSpace(word), ":"); !grouped && (name == "" || strings.Trim(name, "0123456789+") != "") {
			if _, err := OneOfNear(withinWords)(name); err != nil {
				return nil, err
			}
		}
	}
	return nil, err
}

// PointsOf returns the points that words stand for. ParseWithin has returned them.
func PointsOf(words []string) (p traits.Points) {
	if len(words) == 0 {
		return p
	}
	p, err := traits.ParsePoints(strings.Join(words, ","))
	if err != nil {
		panic("cli: " + err.Error())
	}
	return p
}

// Check rejects words that other flags contradict.
func (f *WithinFlag) Check(copies *CopyFlags) error {
	if PointsOf(f.Within).Fields&traits.PointVNI != 0 && copies.Identity != identity.Inner {
		return Usagef("--within vni needs --identity inner: without it the VNI is part of what is compared")
	}
	return nil
}

// CheckInputs rejects words that have no meaning for these captures.
func (f *WithinFlag) CheckInputs(inputs []string) error {
	if slices.Contains(f.Within, "input") && len(inputs) < 2 {
		return Usagef("--within input needs several captures: name more, or leave it out")
	}
	return nil
}

// StripWords are values of --strip.
var StripWords = []string{"vlan", "mpls", "pppoe", "tunnel", "arista"}

// SliceWords are values of --slice to complete.
var SliceWords = []string{"l4", "l4+64", "96"}
