// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/hubclient"
	"github.com/flowdedup/flowdedup/engine/hubclient/natslink"
	"github.com/flowdedup/flowdedup/engine/window"
)

// HubFlags are the flags of a site that shares a filter with others.
type HubFlags struct {
	Hub   string
	Token hubclient.Token // of Hub
	site  string
	wait  time.Duration
}

// fileVerdictWait is how long a packet of inputs that wait is without a verdict by default.
const fileVerdictWait = 2 * time.Second

// Flags returns the flags; wait is the default of --verdict-wait.
func (f *HubFlags) Flags(wait time.Duration) []cli.Flag {
	return []cli.Flag{
		{Name: "hub", Group: cli.GroupCompare, To: &f.Hub, Not: []string{"key: the key is the hub's, and in the token", "identity-bytes digest: they must be the same at all sites", "learn: it chooses what the sites must do alike", "keep=flow: a hub keeps the first of equal packets"}, Help: "remove what other sites have sent: a `TOKEN` of flowdedup-hub join-token, its file, or a server's URL with the token in $" + hubclient.TokenVariable},
		{Name: "site", Group: cli.GroupCompare, To: &f.site, Needs: []string{"hub"}, Help: "check that the token is of site `NAME`"},
		{Name: "verdict-wait", Group: cli.GroupCompare, To: cli.NewParsed(&f.wait, wait.String(), "duration", cli.ParseDelay), Words: []string{wait.String(), "100ms"}, Needs: []string{"hub"}, Help: "longest wait for the hub; then packets stay, unchecked"},
	}
}

// Check reads the token, and rejects flags that sites cannot choose for themselves. It sets
// the flags that the token determines.
func (f *HubFlags) Check(fs *pflag.FlagSet, compare *CompareFlags, keep *KeepFlags) error {
	if f.Hub == "" {
		return nil
	}
	var err error
	if f.Token, err = readToken(f.Hub); err != nil {
		return cli.Usagef("--hub: %w", err)
	}
	if err := f.checkFlags(fs, compare, keep); err != nil {
		return cli.Usage(err)
	}
	return nil
}

// checkFlags rejects flags that contradict the token.
func (f *HubFlags) checkFlags(fs *pflag.FlagSet, compare *CompareFlags, keep *KeepFlags) error {
	kind, err := identity.ParseKind(cmp.Or(f.Token.Identity, identity.L3.String()))
	if err != nil {
		return fmt.Errorf("--hub: the token has an identity that this version does not know: %w", err)
	}
	ignore, err := f.ignored()
	if err != nil {
		return err
	}
	within, err := f.within()
	if err != nil {
		return err
	}
	tunnels, err := f.tunnels()
	if err != nil {
		return err
	}
	shared := window.Window{Duration: f.Token.Window()}
	switch {
	case f.site != "" && f.site != f.Token.Site:
		return fmt.Errorf("--site %s: the token belongs to %s: make another with flowdedup-hub join-token %[1]s", f.site, f.Token.Site)
	case f.wait <= 0:
		return errors.New("--verdict-wait must be more than 0")
	case fs.Changed("identity") && compare.Identity != kind:
		return fmt.Errorf("--identity %s: the sites of this hub compare %s: leave it out", compare.Identity, kind)
	case fs.Changed("window") && compare.Window != shared:
		return fmt.Errorf("--window %s: the window of this hub is %s: leave it out", compare.Window, shared)
	case fs.Changed("ignore") && compare.Ignore != ignore:
		return fmt.Errorf("--ignore %s: the sites of this hub ignore %s: leave it out, or start the hub with it", fs.Lookup("ignore").Value, cmp.Or(f.Token.Ignore, "nothing else"))
	case fs.Changed("within") && !slices.Equal(keep.Within, within):
		return fmt.Errorf("--within %s: the copies of this hub come from %s: leave it out, or start the hub with it", strings.Join(keep.Within, ","), pointsText(f.Token.Within))
	case fs.Changed("tunnel") && compare.Tunnels.String() != tunnels.String():
		return fmt.Errorf("--tunnel %s: the sites of this hub open %s: leave it out, or start the hub with it", compare.Tunnels, cmp.Or(f.Token.Tunnels, "the usual tunnels"))
	case keep.chooses():
		return errors.New("--hub keeps the first of equal packets: leave out --keep flow and --prefer")
	}
	compare.Identity, compare.Window, compare.Ignore, compare.Tunnels, keep.Within = kind, shared, ignore, tunnels, within
	keep.choice.First = true // which is asked about at once
	return nil
}

// pointsText says where copies come from.
func pointsText(within string) string {
	if within == "" {
		return "any point"
	}
	return "the same " + within
}

// ignored returns the fields that the identity of the token leaves out.
func (f *HubFlags) ignored() (ignore identity.Ignore, err error) {
	if f.Token.Ignore == "" {
		return identity.Ignore{}, nil
	}
	if ignore, err = identity.ParseIgnore(f.Token.Ignore); err != nil {
		return ignore, fmt.Errorf("--hub: the token has an identity that this version does not know: %w", err)
	}
	return ignore, nil
}

// tunnels returns the tunnels of the token.
func (f *HubFlags) tunnels() (tunnels *headers.Tunnels, err error) {
	if f.Token.Tunnels == "" {
		return nil, nil
	}
	if tunnels, err = headers.ParseTunnels(f.Token.Tunnels); err != nil {
		return nil, fmt.Errorf("--hub: the token has tunnels that this version does not know: %w", err)
	}
	return tunnels, nil
}

// within returns the points of the token: only packets of the same point are copies of each
// other.
func (f *HubFlags) within() (points []string, err error) {
	if f.Token.Within == "" {
		return nil, nil
	}
	if points, err = cli.ParseWithin(f.Token.Within); err != nil {
		return nil, fmt.Errorf("--hub: the token has points that this version does not know: %w", err)
	}
	return points, nil
}

// Complete sets the key, once others have chosen theirs.
func (f *HubFlags) Complete(c *cli.Common) {
	if f.Hub != "" {
		c.Secret = engine.Secret(f.Token.Key)
	}
}

// readToken finds the token that --hub means.
func readToken(hub string) (hubclient.Token, error) {
	token, err := hubclient.FindToken(hub)
	if errors.Is(err, hubclient.ErrToken) {
		err = badToken(err)
	}
	return token, err
}

func badToken(err error) error {
	return fmt.Errorf("%w; make another with flowdedup-hub join-token SITE, of the same version as this program", err)
}

// HubLink is the connection of a site to its hub.
type HubLink struct {
	link   *natslink.Link
	client *hubclient.Client
}

// Join connects to the hub. It returns nil without --hub. block says that inputs wait. A hub
// that cannot be reached is no error: it is reported to warn, now and later.
func (f *HubFlags) Join(block bool, warn func(error)) (*HubLink, error) {
	if f.Hub == "" {
		return nil, nil
	}
	link, unreached, err := natslink.Dial(f.Token, func(err error) { warn(fmt.Errorf("hub: %w", err)) })
	if errors.Is(err, hubclient.ErrToken) {
		return nil, cli.Usagef("--hub: %w", badToken(err))
	} else if err != nil {
		return nil, fmt.Errorf("--hub: %w", err)
	}
	known := unreached != nil // that the hub does not answer
	client := hubclient.NewClient(hubclient.ClientConfig{
		Token: f.Token, Wait: f.wait, Block: block, Notice: func(reason string) {
			if !known {
				warn(notice(reason))
			}
			known = false
		},
	}, link, strconv.FormatInt(time.Now().UnixNano(), 36))
	h := &HubLink{link, client}
	if err := link.Listen(client.Inbox(), client.Receive); err != nil {
		h.Close()
		return nil, fmt.Errorf("--hub: %w", err)
	}
	if unreached != nil {
		warn(fmt.Errorf("hub: %s cannot be reached (%w): packets stay unchecked until it can", f.Token.URL, unreached))
		return h, nil
	}
	switch err := client.Ping(); {
	case err == nil:
	case errors.Is(err, hubclient.ErrSilent) && link.Denied():
		h.Close()
		return nil, fmt.Errorf("--hub: %w", natslink.ErrToken)
	case errors.Is(err, hubclient.ErrSilent):
		warn(fmt.Errorf("hub: %s takes connections, but no hub answers there: packets stay unchecked until one does", f.Token.URL))
	default:
		h.Close()
		return nil, fmt.Errorf("--hub: %w", err)
	}
	return h, nil
}

// notice describes a change.
func notice(reason string) error {
	if reason == "" {
		return errors.New("hub: it answers again")
	}
	return fmt.Errorf("hub: it does not answer (%s): packets stay unchecked until it does", reason)
}

// Client returns the hub's client, nil for none.
func (h *HubLink) Client() *hubclient.Client {
	if h == nil {
		return nil
	}
	return h.client
}

// Request sends a message to the hub, and returns its answer.
func (h *HubLink) Request(ctx context.Context, to string, msg []byte) ([]byte, error) {
	return h.link.Request(ctx, to, msg)
}

// hurried is how long answers may still take when a signal ends a run.
const hurried = 500 * time.Millisecond

// hurry ends the wait of packets soon after the context has ended. The caller calls stop at
// the end.
func (h *HubLink) hurry(ctx context.Context) (stop func() bool) {
	if h == nil {
		return func() bool { return true }
	}
	return context.AfterFunc(ctx, func() { time.AfterFunc(hurried, h.client.Abandon) })
}

// Close ends the connection.
func (h *HubLink) Close() {
	if h != nil {
		h.client.Close()
		h.link.Close()
	}
}
