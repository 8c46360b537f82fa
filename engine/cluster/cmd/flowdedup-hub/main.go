// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/help"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/once"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/settings"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/version"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/web"
	"github.com/flowdedup/flowdedup/engine/cluster/hub"
	"github.com/flowdedup/flowdedup/engine/cluster/slice"
	"github.com/flowdedup/flowdedup/layout"
)

// The exit codes. A run that a signal ends exits with 128 plus its number.
const (
	exitFailed = 1
	exitUsage  = 2
	exitSignal = 128
)

// usageError marks an error that another command line avoids.
type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

func main() {
	tuneCollector()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup does
		signal.Notify(signals, syscall.SIGHUP)
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr, signals))
}

// collectAt is by how many percent the heap grows between two collections. Slices lie outside the
// heap. The rest is small, but requests fill it fast: by Go's default there were ten collections a
// second at half load, and the slowest answers waited for them.
const collectAt = 400

// tuneCollector makes collections rare while memory is there, and keeps the heap below half of the
// process's limit. GOGC and GOMEMLIMIT take precedence.
func tuneCollector() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectAt)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(layout.MemoryLimit() / 2)
	}
}

// run runs a command line until it is done, or a signal comes. It returns the exit code.
func run(args []string, out, errOut io.Writer, signals <-chan os.Signal) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var ended os.Signal
	done := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		select {
		case ended = <-signals:
			cancel()
		case <-done:
		}
	})
	log := &logger{out: errOut}
	root := rootCommand(log)
	root.SetOut(out)
	root.SetErr(errOut)
	err := help.Run(outfile.WithNoReader(ctx, func(name string) {
		log.Log(name + " is a pipe without a reader: counts waits for one")
	}), root, args)
	close(done)
	group.Wait()
	if err != nil && !errors.Is(err, context.Canceled) {
		(&logger{out: errOut}).Log(strings.ReplaceAll(err.Error(), "\n", "\nflowdedup-hub: "))
		var usage usageError
		if errors.As(err, &usage) || errors.Is(err, hub.ErrName) || errors.Is(err, slice.ErrConfig) || errors.Is(err, hub.ErrInvitation) || errors.Is(err, web.ErrAddress) {
			return exitUsage
		}
		return exitFailed
	}
	if n, ok := ended.(syscall.Signal); ok {
		return exitSignal + int(n)
	}
	return 0
}

// rootCommand returns the command with all others below it.
func rootCommand(log *logger) *cobra.Command {
	root := serveCommand(log)
	root.Version = version.String()
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{once.Error(err)} })
	root.PersistentFlags().String("state", defaultState(), "`folder` of settings, keys and saved slices")
	root.Flags().BoolP("version", "v", false, "print the version")
	help.Set(root, flagGroups, terminalColumns)
	root.SetHelpCommand(help.Command(noArgs))
	root.AddCommand(joinTokenCommand(), hubTokenCommand(), removeCommand(), usersCommand(), statusCommand(), countsCommand(), versionCommand(), manCommand())
	settings.Define(root, "FLOWDEDUP_HUB_", func(err error) error { return usageError{err} },
		func(_ *cobra.Command, err error) { log.Warn(err.Error()) })
	apply := root.PersistentPreRunE
	root.PersistentPreRunE = func(c *cobra.Command, args []string) error { // the file may be a pipe
		return outfile.Until(c.Context(), func() error { return apply(c, args) })
	}
	once.Flags(root)
	return root
}

// defaultState is the folder where nothing else is said.
func defaultState() string {
	if os.Geteuid() == 0 {
		return "/var/lib/flowdedup-hub"
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "flowdedup-hub")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "flowdedup-hub"
	}
	return filepath.Join(home, ".local", "state", "flowdedup-hub")
}

// state returns the state folder of a command.
func state(c *cobra.Command) string {
	return c.Flag("state").Value.String()
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version, with the commit", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(c.OutOrStdout(), "flowdedup-hub %s %s %s/%s\n", version.String(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

func noArgs(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("unexpected %q: see flowdedup-hub --help", args[0])}
	}
	return nil
}

// logger writes lines.
type logger struct {
	mu  sync.Mutex
	out io.Writer
}

func (l *logger) Log(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintln(l.out, "flowdedup-hub:", text)
}

func (l *logger) Warn(text string) { l.Log("warning: " + text) }
