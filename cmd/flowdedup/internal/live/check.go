// SPDX-License-Identifier: Apache-2.0

package live

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/capture/pcapoverip"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/web"
)

// checkSystem returns all that would keep a run from beginning, as far as this shows without a
// capture, a listening port or a written byte.
func (f *flags) checkSystem(cfg *config) error {
	errs := []error{refuseForwards(cfg.Ring.Interfaces, cfg.Outputs.Forward), checkRights(cfg.User, f.XDP() != nil)}
	for _, name := range slices.Concat(cfg.Ring.Interfaces, cfg.Outputs.Forward) {
		errs = append(errs, cli.NameInterfaces(afpacket.Check(name, cfg.Ring.Wait)))
	}
	for _, file := range []struct{ flag, name string }{
		{"-w", cfg.Outputs.Kept}, {"--duplicates", cfg.Outputs.Removed}, {"--reports", cfg.Reports}, {"--state", cfg.State}, {"--save", cfg.Save},
	} {
		if err := checkFile(file.name); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", file.flag, err))
		}
	}
	if cfg.State != "" {
		errs = append(errs, outfile.CheckState(cfg.State, stateMagic))
	}
	if f.http != "" {
		_, err := web.Check(f.http, f.httpToken)
		if errors.Is(err, web.ErrAddress) {
			err = cli.Usage(err)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// checkFile checks the folder of a file, or a folder itself that is there.
func checkFile(name string) error {
	if name == "" || outfile.IsStdout(name) || pcapoverip.IsAddress(name) {
		return nil
	}
	dir := filepath.Dir(name)
	if info, err := os.Stat(name); err == nil {
		switch {
		case info.IsDir():
			dir = name
		case !info.Mode().IsRegular():
			return nil // a pipe or a device
		}
	}
	return outfile.CheckFolder(dir)
}

// checkFiles reads the files that a run needs, compiles the conditions, and prints ok.
func (f *flags) checkFiles(cmd *cobra.Command, e *cli.Env, cfg *config) error {
	cfg.Log = slog.New(slog.DiscardHandler)
	_, err := f.net.Network(cmd, cfg.Log)
	r := &runner{cfg: cfg, log: cfg.Log}
	if err := errors.Join(err, r.compile(cmd.Context())); err != nil {
		return err
	}
	_, err = fmt.Fprintln(e.Stdout, "ok")
	return err
}
