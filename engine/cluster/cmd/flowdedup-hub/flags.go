// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/help"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/once"
	"github.com/flowdedup/flowdedup/engine/cluster/chain"
	"github.com/flowdedup/flowdedup/engine/cluster/hub"
	"github.com/flowdedup/flowdedup/engine/hubclient"
	"github.com/flowdedup/flowdedup/engine/window"
)

// serveFlags are the flags of the hub itself.
type serveFlags struct {
	settings      hub.Settings // flags that the folder stores
	shape         shapeFlags
	window        string
	memory        string
	memoryBytes   int
	counts        string
	countsBytes   int64
	nats          string
	join          string
	parent        string
	parentWait    time.Duration
	below         string
	topDown       int
	name          string
	onlyCheck     bool
	http          string
	httpToken     string
	cert, key, ca string
	changed       func(name string) bool
}

// The headings of flags in help.
const (
	groupConnection help.Group = "Connection"
	groupCompare    help.Group = "Comparing"
	groupHub        help.Group = "Hub"
)

// flagGroups are the groups in the order of help.
var flagGroups = []help.Group{groupConnection, groupCompare, groupFilter, groupHub, help.None}

// define defines the flags of the hub itself.
func (f *serveFlags) define(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.settings.Listen, "listen", ":4222", "`address` that sensors connect to")
	flags.StringVar(&f.settings.URL, "url", "", "`URL` by which sensors reach this server, if not by an address of this machine, such as nats://hub.example.org:4222")
	flags.StringVar(&f.cert, "tls-cert", "", "`file` (PEM) with the server's certificate: sensors then use TLS")
	flags.StringVar(&f.key, "tls-key", "", "`file` (PEM) with its key")
	flags.StringVar(&f.ca, "tls-ca", "", "`file` (PEM) with the certificate of its issuer, for the tokens, if systems do not know it")
	groupConnection.Add(flags, "listen", "url", "tls-cert", "tls-key", "tls-ca")

	flags.StringVar(&f.window, "window", window.Default.String(), "longest `time` between a packet and its copies, beyond the difference of clocks")
	flags.StringVar(&f.settings.Identity, "identity", "l3", "what makes packets equal, a `kind` as in flowdedup dedup --identity")
	flags.Var(once.List(&f.settings.Ignore), "ignore", "additional `fields` to ignore, as in flowdedup dedup --ignore")
	flags.Var(once.List(&f.settings.Within), "within", "copies come from the same `points` only: vlan, vni, or joined as in vlan:10+110,20+120")
	flags.Var(once.List(&f.settings.Tunnels), "tunnel", "what comes to UDP ports of --identity inner: 10800=vxlan and the `like`, as in flowdedup dedup --tunnel")
	groupCompare.Add(flags, "window", "identity", "ignore", "within", "tunnel")

	f.shape.define(flags)
	flags.BoolVar(&f.settings.Journal, "journal", false, "write requests to a journal before they are answered, so that a crash of the hub loses nothing")
	flags.StringVar(&f.memory, "memory", "512MiB", "`bytes` that all slices of this hub may grow to")
	flags.StringVar(&f.counts, "counts", "4GiB", "`bytes` of distinct counts of sites (flowdedup live --save) that are kept on disk; 0 takes none")
	flags.StringVar(&f.nats, "nats", "", "use the NATS server at this `URL` instead of an own one (\"\" for an own one again)")
	flags.StringVar(&f.join, "join", "", "at the first start: share the slices of another hub, by the `line` of its flowdedup-hub hub-token")
	flags.StringVar(&f.parent, "parent", "", "ask another hub about packets that are new here: the `TOKEN` of this hub as one of its sites, a file that has it, or a server's URL with it in $"+hubclient.TokenVariable+" (\"\" for none again)")
	flags.DurationVar(&f.parentWait, "parent-wait", hub.ParentWait, "longest wait (`time`) for that hub; then packets pass here, unchecked, or are copies with --lost closed")
	flags.BoolVar(&f.settings.Dense, "dense", false, "with --parent and timers: remember packets that the hub above knows here, too")
	flags.StringVar(&f.below, "below", "", "the hubs below this one, all `names` of its sites with commas: they can confirm its copies (\"\" for none)")
	flags.IntVar(&f.topDown, "top-down", 0, "with --below: a copy is one only if hubs of so many `levels` below hold it, else a false one")
	flags.StringVar(&f.name, "name", hostname(), "`name` of this hub in reports")
	flags.StringVar(&f.http, "http", "127.0.0.1:9418", "`address` of the status page, /metrics and /healthz: 9418 (loopback only), 0.0.0.0:9418, or none")
	flags.StringVar(&f.httpToken, "http-token", "", "who asks there needs the token in this `file`; its second line, if any, opens /metrics and /healthz alone")
	flags.BoolVar(&f.onlyCheck, "check", false, "check settings, state folder and files, print ok, and end: nothing is served or written")
	groupHub.Add(flags, "journal", "memory", "counts", "nats", "join", "parent", "parent-wait", "dense", "below", "top-down", "name", "http", "http-token", "check")
	for flag, words := range completed {
		if err := c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)); err != nil {
			panic("flowdedup-hub: " + err.Error()) // a flag that was never defined
		}
	}
}

// completed are values that the shell completes.
var completed = map[string][]string{
	"identity": {"frame", "l3", "inner"}, "within": {"vlan", "vni"}, "window": {"1ms", "10ms", "100ms"},
	"memory": {"512MiB", "2GiB", "8GiB"}, "counts": {"4GiB", "0"}, "slices": {"8", "64"}, "http": {"127.0.0.1:9418", "none"}, "parent-wait": {hub.ParentWait.String(), "100ms"},
	"layout": chain.Layouts, "filter": append([]string{rows}, chain.Filters...), "primitive": chain.Primitives,
	"grow":   append([]string{never}, chain.Growths...),
	"timers": {"any", "equal"}, "lost": {"open", "closed"},
}

func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "hub"
	}
	return name
}

// check reads the values of flags.
func (f *serveFlags) check() error {
	return cmp.Or(f.checkCompare(), f.checkSizes(), f.checkConnection())
}

func (f *serveFlags) checkCompare() error {
	w, err := window.Parse(f.window)
	if err != nil || w.Landmark || w.Duration < time.Microsecond || w.Duration > 24*time.Hour {
		return usageError{fmt.Errorf("--window %s: want a time from 1us to 24h, such as 1ms", f.window)}
	}
	f.settings.WindowUS = w.Duration.Microseconds()
	if _, err := identity.ParseKind(f.settings.Identity); err != nil {
		return usageError{fmt.Errorf("--identity: %w", err)}
	}
	if _, err := identity.ParseIgnore(f.settings.Ignore); err != nil && f.settings.Ignore != "" {
		return usageError{fmt.Errorf("--ignore: %w", err)}
	}
	if f.settings.Tunnels != "" {
		tunnels, err := headers.ParseTunnels(f.settings.Tunnels)
		if err != nil {
			return usageError{fmt.Errorf("--tunnel: %w", err)}
		}
		f.settings.Tunnels = tunnels.String()
	}
	points, err := traits.ParsePoints(cmp.Or(f.settings.Within, "vlan"))
	if err == nil && points.Fields&(traits.PointInterface|traits.PointInput|traits.PointLAN) != 0 {
		err = errors.New("want vlan, vni or both with a comma: other points differ from site to site")
	}
	if err != nil {
		return usageError{fmt.Errorf("--within %s: %w", f.settings.Within, err)}
	}
	return nil
}

func (f *serveFlags) checkSizes() error {
	cut, err := f.shape.parseSlices()
	if err != nil {
		return err
	}
	n, err := humanize.ParseBytes(f.memory)
	if err != nil || n < uint64(cut[0])<<10 || n > 1<<40 {
		return usageError{fmt.Errorf("--memory %s: want at least 1 KiB for each slice, such as 512MiB", f.memory)}
	}
	f.memoryBytes = int(n)
	if n, err = humanize.ParseBytes(f.counts); err != nil || n > 1<<50 {
		return usageError{fmt.Errorf("--counts %s: want a size such as 4GiB, or 0", f.counts)}
	}
	f.countsBytes = int64(n)
	return nil
}

func (f *serveFlags) checkConnection() error {
	_, port, err := net.SplitHostPort(f.settings.Listen)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	switch {
	case f.parentWait < time.Millisecond || f.parentWait > time.Minute:
		return usageError{fmt.Errorf("--parent-wait %v: want a time from 1ms to 1m", f.parentWait)}
	case (f.cert == "") != (f.key == ""):
		return usageError{errors.New("--tls-cert and --tls-key belong together")}
	case err != nil:
		return usageError{fmt.Errorf("--listen %s: want HOST:PORT or :PORT", f.settings.Listen)}
	}
	return nil
}

// apply changes the stored settings to the flags that were given. It reports whether
// earlier tokens became invalid.
func (f *serveFlags) apply(s *hub.Settings) (invalid bool, err error) {
	if f.changed("listen") {
		s.Listen = f.settings.Listen
	}
	if f.changed("url") {
		s.URL = f.settings.URL
	}
	if f.changed("window") {
		s.WindowUS = f.settings.WindowUS
	}
	for name, to := range map[string]struct{ old, given *string }{
		"identity": {&s.Identity, &f.settings.Identity}, "ignore": {&s.Ignore, &f.settings.Ignore}, "within": {&s.Within, &f.settings.Within}, "tunnel": {&s.Tunnels, &f.settings.Tunnels},
	} {
		if f.changed(name) && *to.old != *to.given {
			*to.old, invalid = *to.given, true
		}
	}
	above, err := f.applyParent(s)
	if err != nil {
		return false, err
	}
	if f.changed("journal") {
		s.Journal = f.settings.Journal
	}
	if f.changed("nats") {
		s.NATS = f.nats
	}
	shaped, err := f.shape.apply(f.changed, s)
	if err != nil {
		return false, err
	}
	f.applyBelow(s)
	if err = s.CheckParent(); err != nil {
		return false, usageError{fmt.Errorf("--parent: %w", err)}
	}
	if err = s.CheckBelow(); err != nil {
		return false, usageError{fmt.Errorf("--below, --top-down: %w", err)}
	}
	return invalid || above || shaped, nil
}
