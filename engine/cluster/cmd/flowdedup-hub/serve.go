// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowdedup/flowdedup/capture/certs"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/page"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/version"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/web"
	"github.com/flowdedup/flowdedup/engine/cluster/hub"
)

// firstMemory is the share of --memory that slices begin with.
const firstMemory = 4

func serveCommand(log *logger) *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use:   "flowdedup-hub",
		Short: "Report to sensors which packets another site has sent before",
		Long: `flowdedup-hub lets several sensors keep one copy of each packet between them.
Sensors send it a digest of each packet, and it answers which of them another
site has sent before. Without any flag it starts a NATS server, and makes all
keys. It runs until it is interrupted.

Slices, identity and keys are kept in the state folder: later starts need no
flags.

Exit codes: 0 done, 1 failed, 2 wrong usage, 130 and 143 interrupted (slices
are saved).`,
		Example: `  flowdedup-hub                                      # on one machine
  flowdedup-hub join-token berlin > berlin.token     # there, for a site
  flowdedup live -i eth1 --hub berlin.token -w clean.pcapng    # at the site
  flowdedup-hub status                               # who has sent what
  flowdedup-hub hub-token > hub.token                # for a second hub
  flowdedup-hub --join "$(cat hub.token)"            # its first start`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			f.changed = c.Flags().Changed
			return f.serve(c, log)
		},
	}
	f.define(c)
	return c
}

// serve runs the hub until the context ends.
func (f *serveFlags) serve(c *cobra.Command, log *logger) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	if f.onlyCheck {
		return f.checkSystem(c, log)
	}
	folder, settings, made, err := f.open(state(c))
	if err != nil {
		return err
	}
	lock, err := folder.Lock()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	if err := f.change(folder, &settings, made, log); err != nil {
		return err
	}
	var files *certs.Files
	var certificates *tls.Config
	err = outfile.Until(c.Context(), func() (err error) { // files may be pipes
		files, certificates, err = f.certificates(&settings, log)
		return err
	})
	if err != nil {
		return err
	}
	if err := folder.Save(settings); err != nil {
		return err
	}
	cfg := hub.Config{
		Name: f.name, URL: settings.NATS, Folder: folder, Settings: settings, Log: log,
		Memory: f.memoryBytes / firstMemory, Limit: f.memoryBytes, Counts: f.countsBytes,
	}
	if settings.NATS == "" {
		server, err := hub.StartServer(folder, settings, certificates, log)
		if err != nil {
			return err
		}
		defer server.Close()
		cfg.Reload, cfg.Repair, cfg.Dial = server.Reload, server.Repair, server.Dial()
		cfg.Ban, cfg.Bans, cfg.Denied = server.Ban, server.Bans, server.Denied
	}
	h, err := hub.Start(cfg)
	if err != nil {
		return err
	}
	stop, err := f.serveHTTP(h, files, log)
	if err != nil {
		return errors.Join(err, h.Close())
	}
	log.Log(ready(&settings))
	select {
	case <-c.Context().Done():
		return errors.Join(stop(), h.Close())
	case err := <-h.Lost():
		return errors.Join(err, stop(), h.Close())
	}
}

// checkSystem prints ok, or returns all that would keep the hub from starting, as far as this shows without
// a listening port or a written byte.
func (f *serveFlags) checkSystem(c *cobra.Command, log *logger) error {
	path := state(c)
	folder, settings, err := hub.OpenFolder(path)
	if err == nil {
		err = f.change(folder, &settings, true, log)
	} else if errors.Is(err, hub.ErrNoFolder) { // the first start makes it
		err = nil
		for _, missing := os.Stat(path); missing != nil && path != filepath.Dir(path); _, missing = os.Stat(path) {
			path = filepath.Dir(path)
		}
	}
	errs := []error{err, outfile.CheckFolder(path), outfile.Until(c.Context(), func() error {
		_, _, err := f.certificates(&settings, log)
		return err
	})}
	if f.http != "none" && f.http != "" {
		errs = append(errs, web.Check(f.http, f.httpToken))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.OutOrStdout(), "ok")
	return err
}

// change applies the flags to the settings of a folder. made says that it is new: then there are no
// earlier tokens.
func (f *serveFlags) change(folder *hub.Folder, s *hub.Settings, made bool, log *logger) error {
	invalid, err := f.apply(s)
	if err != nil {
		return err
	}
	if invalid && !made {
		s.Epoch++
		log.Warn("tokens of before are not valid any more: make new ones with flowdedup-hub join-token")
	}
	inner := s.Identity == identity.Inner.String()
	if strings.Contains(s.Within, "vni") && !inner {
		return usageError{errors.New("--within vni needs --identity inner: without it the VNI is part of what is compared")}
	}
	if s.Tunnels != "" && !inner {
		return usageError{errors.New("--tunnel needs --identity inner: nothing else opens tunnels")}
	}
	if err := folder.CheckParent(s); err != nil {
		return usageError{fmt.Errorf("--parent: %w", err)}
	}
	return nil
}

// ready returns what the hub does now, and the next step for the user.
func ready(s *hub.Settings) string {
	if s.Joined {
		return "shares the slices of the hub at " + s.NATS
	}
	shape := ""
	if !s.Shape.Rows() {
		shape = " (" + s.Shape.String() + ")"
	}
	return fmt.Sprintf("%d slices%s, window %v, sensors connect to %s; the line for one: flowdedup-hub join-token SITE",
		s.Slices, shape, s.Window(), s.SiteURL())
}

// open opens the state folder, or makes it.
func (f *serveFlags) open(path string) (*hub.Folder, hub.Settings, bool, error) {
	if f.join == "" {
		return openOrMake(path)
	}
	for _, shared := range append([]string{"listen", "url", "window", "identity", "ignore", "within", "tunnel", "nats", "journal", "parent", "parent-wait", "dense", "below", "top-down"}, shapeNames...) {
		if f.changed(shared) {
			return nil, hub.Settings{}, false, usageError{fmt.Errorf("--%s comes with --join: leave it out", shared)}
		}
	}
	folder, settings, err := hub.Accept(path, f.join)
	return folder, settings, true, err
}

// openOrMake opens the state folder, which it makes at the first start.
func openOrMake(path string) (*hub.Folder, hub.Settings, bool, error) {
	folder, settings, err := hub.OpenFolder(path)
	if errors.Is(err, hub.ErrNoFolder) {
		folder, settings, err = hub.MakeFolder(path)
		return folder, settings, true, err
	}
	return folder, settings, false, err
}

// certificates reads the files of TLS, nil for none. The hub trusts no authority by itself: --tls-ca
// is for tokens.
func (f *serveFlags) certificates(s *hub.Settings, log *logger) (files *certs.Files, config *tls.Config, err error) {
	if f.cert == "" {
		return nil, nil, nil
	}
	if files, err = certs.Load(f.cert, f.key, ""); err != nil {
		return nil, nil, usageError{fmt.Errorf("--tls-cert: %w", err)}
	}
	files.Warn, files.Log = func(err error) { log.Warn(err.Error()) }, log.Log
	if f.ca != "" {
		text, err := certs.Read(f.ca)
		if err != nil {
			return nil, nil, usageError{fmt.Errorf("--tls-ca: %w", err)}
		}
		s.CA = string(text)
	}
	config, err = files.Server(tls.VersionTLS13)
	return files, config, err
}

// serveHTTP shows the hub to browsers and collectors, until stop.
func (f *serveFlags) serveHTTP(h *hub.Hub, files *certs.Files, log *logger) (stop func() error, err error) {
	if f.http == "none" || f.http == "" {
		return func() error { return nil }, nil
	}
	past := &history{}
	server, err := web.Listen(f.http, f.httpToken, content(h.Status, h.Failures, files, past))
	if errors.Is(err, web.ErrAddress) {
		return nil, err
	} else if err != nil {
		return nil, fmt.Errorf("%w; or --http none", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { past.follow(ctx, h.Status) })
	log.Log("status at http://" + server.Addr().String())
	return func() error {
		cancel()
		group.Wait()
		return server.Close()
	}, nil
}

// pageEvery is how often browsers load the page again.
const pageEvery = 5 * time.Second

// content is what the hub serves over HTTP. failuresOf returns the present failures of the hub, and
// files are the certificates of its server, nil for none.
func content(status func() hub.Status, failuresOf func() []string, files *certs.Files, past *history) web.Content {
	all := hubMetrics(files)
	failures := func() []string {
		reasons := failuresOf()
		if err := files.Failure(); err != nil {
			reasons = append(reasons, err.Error())
		}
		return reasons
	}
	return web.Content{
		Page: func(w io.Writer, paused bool) error {
			st := status()
			p := newPage(&st, past)
			p.Origin = page.Origin{Command: "flowdedup-hub", Version: version.String(), Made: time.Now().UTC()}
			p.Alerts = failures()
			p.Live = &page.Live{Every: pageEvery, Paused: paused, Paths: []string{"/metrics", "/healthz", "/status.json"}}
			return p.Write(w)
		},
		Refresh: pageEvery,
		Health:  func() web.Health { return web.HealthAt(time.Now(), failures()) },
		Metrics: func(w io.Writer) error {
			st := status()
			return web.WriteMetrics(w, all, &st)
		},
		Status: func() any { return status() },
	}
}
