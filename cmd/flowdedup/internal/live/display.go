// SPDX-License-Identifier: Apache-2.0

package live

import (
	"io"
	"log/slog"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/monitor"
)

// lineEvery is the interval of status lines if there is no terminal.
const lineEvery = 10 * time.Second

// display shows a run on standard error, over HTTP, and to the service manager.
type display struct {
	env      *cli.Env
	stderr   io.Writer
	view     *monitor.View     // nil with --quiet
	server   *monitor.Server   // nil without --http
	notifier *monitor.Notifier // nil without a service manager that wants to know
	log      *slog.Logger
}

func (f *flags) newDisplay(e *cli.Env, of cli.Origin) (*display, error) {
	s := &display{env: e, stderr: e.Stderr}
	if f.http != "" {
		var err error
		if s.server, err = monitor.Listen(f.http, f.httpToken, of.Now); err != nil {
			return nil, err
		}
	}
	if !f.Quiet {
		s.view = monitor.NewView(e.Stderr, lineEvery, f.handler())
		e.Redirect(s.view) // it shows other messages in their place
	}
	s.log = slog.New(f.handler()(e.Stderr))
	var err error
	if s.notifier, err = monitor.NewNotifier(); err != nil {
		s.log.Warn("cannot notify the service manager", "error", err)
	}
	if s.server != nil {
		s.log.Info("listening", "url", "http://"+s.server.Addr().String()+"/")
	}
	return s, nil
}

// handler returns the constructor of log handlers for --log.
func (f *flags) handler() func(io.Writer) slog.Handler {
	switch {
	case f.logFormat == "json":
		return f.jsonHandler
	case f.Quiet:
		return monitor.Errors
	}
	return monitor.Lines
}

func (f *flags) jsonHandler(w io.Writer) slog.Handler {
	level := slog.LevelInfo
	if f.Quiet {
		level = slog.LevelError
	}
	return slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level})
}

func (s *display) update(status monitor.Status) {
	if s.view != nil {
		s.view.Update(status)
	}
	if s.server != nil {
		s.server.Update(status)
	}
	if s.notifier != nil {
		s.notifier.Update(&status)
	}
}

// close ends the view, so that the summary stands below it, and the server. It may be
// called twice.
func (s *display) close() {
	if s.view != nil {
		s.view.Close()
		s.env.Redirect(s.stderr)
		s.view = nil
	}
	if s.server != nil {
		// A scrape that was cut off does not make the run fail.
		_ = s.server.Close()
		s.server = nil
	}
	if s.notifier != nil {
		_ = s.notifier.Close() // nothing is left to send
		s.notifier = nil
	}
}
