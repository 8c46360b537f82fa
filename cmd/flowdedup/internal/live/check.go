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
	"github.com/flowdedup/flowdedup/capture/xdp"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/web"
)

// checkSystem prints ok, or returns all that would keep a run from beginning, as far as this shows without a
// capture or a written byte.
func (f *flags) checkSystem(cmd *cobra.Command, e *cli.Env, cfg *config) error {
	cfg.Log, cfg.XDP = slog.New(slog.DiscardHandler), f.XDP()
	_, err := f.net.Network(cmd, cfg.Log)
	err = errors.Join(err, refuseForwards(cfg.Ring.Interfaces, cfg.Outputs.Forward), checkRights(cfg))
	for i, name := range slices.Concat(cfg.Ring.Interfaces, cfg.Outputs.Forward) {
		e := afpacket.Check(name, cfg.Ring.Wait)
		if e == nil && cfg.XDP != nil && i < len(cfg.Ring.Interfaces) {
			e = xdp.Check(name, cfg.XDP, cfg.Ring.Wait)
		}
		err = errors.Join(err, cli.NameInterfaces(e))
	}
	for _, name := range []string{cfg.Outputs.Kept, cfg.Outputs.Removed, cfg.Reports, cfg.State, cfg.Save} {
		err = errors.Join(err, checkFile(name))
	}
	if cfg.State != "" {
		err = errors.Join(err, outfile.CheckState(cfg.State, stateMagic))
	}
	if f.http != "" {
		err = errors.Join(err, web.Check(f.http, f.httpToken))
	}
	if err == nil {
		err = errors.Join(f.compile(cmd.Context(), cfg), (&runner{cfg: cfg, log: cfg.Log}).compile(cmd.Context()))
	}
	if err == nil {
		_, err = fmt.Fprintln(e.Stdout, "ok")
	}
	return err
}

// checkFile checks the folder of a file, or a folder itself that is there.
func checkFile(name string) error {
	info, err := os.Stat(name)
	switch {
	case name == "" || outfile.IsStdout(name) || pcapoverip.IsAddress(name):
		return nil
	case err == nil && info.IsDir():
		return outfile.CheckFolder(name)
	case err == nil && !info.Mode().IsRegular():
		return nil // a pipe or a device
	}
	return outfile.CheckFolder(filepath.Dir(name))
}
