// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/snapshot"
)

// resume makes the filter and the counters, from the state file if it exists. A file that
// does not fit is set aside, if config.BeginAnew says so.
func (r *runner) resume(ctx context.Context) error {
	cfg := r.cfg
	if cfg.State == "" {
		return r.openFilter(ctx, nil, nil)
	}
	err := outfile.CheckState(cfg.State, stateMagic) // before anything is made next to it
	if err == nil {
		r.lock, err = outfile.LockName(cfg.State)
	}
	if err != nil {
		return stateError(cfg.State, err)
	}
	packets, counts := cfg.Dedup.Secret, cfg.Distinct.Secret
	err = r.resumeFrom(ctx)
	if !cfg.BeginAnew || !errors.Is(err, errState) {
		return err
	}
	aside, failed := outfile.SetAside(cfg.State)
	if failed != nil {
		return errors.Join(err, failed)
	}
	r.log.Warn("the state does not fit, so the run begins anew", "error", errors.Unwrap(err), "kept", aside)
	cfg.Dedup.Secret, cfg.Distinct.Secret = packets, counts
	if err := r.closeFilter(); err != nil {
		return err
	}
	return r.openFilter(ctx, nil, nil)
}

// closeFilter releases the resources of openFilter.
func (r *runner) closeFilter() error {
	var errs []error
	if r.phase.Load() != nil {
		errs = append(errs, r.detector().Close())
	}
	if r.reports != nil {
		errs = append(errs, r.reports.close())
	}
	r.phase.Store(nil)
	r.reports = nil
	return errors.Join(errs...)
}

// resumeFrom makes the filter and the counters from the state file if it exists. The secret
// comes from that file unless the user gave a secret.
func (r *runner) resumeFrom(ctx context.Context) error {
	cfg := r.cfg
	file, err := outfile.OpenState(cfg.State, stateMagic)
	if errors.Is(err, fs.ErrNotExist) {
		return r.openFilter(ctx, nil, nil)
	}
	if err != nil {
		return stateError(cfg.State, err)
	}
	defer file.Close()
	header, snapshots, err := readState(file)
	if err != nil {
		return stateError(cfg.State, err)
	}
	var given *engine.Secret
	if cfg.KeyGiven {
		given = &cfg.Dedup.Secret
	}
	if err := header.fits(cfg.settings(), given); err != nil {
		return stateError(cfg.State, err)
	}
	if was := header.setting(memoryFlag); was != strconv.Itoa(cfg.Dedup.Memory) {
		r.log.Warn("the filter keeps the memory that it was saved with: remove the state to change it", "state", cfg.State, "bytes", was)
	}
	if given == nil {
		cfg.Dedup.Secret = engine.Secret(header.Secret)
		cfg.Distinct.Secret = cfg.Dedup.Secret
	}
	if cfg.network() {
		header.Stats.Points = r.names.forget(header.Stats.Points)
	} else if header.Stats.Points, err = r.names.resume(header.Stats.Points, header.Names); err != nil {
		return fmt.Errorf("--state: list interfaces: %w", err)
	}
	if err := r.openFilter(ctx, header, snapshots); err != nil {
		return stateError(cfg.State, err)
	}
	r.begin, r.diffs.Counts = header.Begin, header.Diffs
	r.log.Info("resumed", "state", cfg.State, "saved", header.Saved, "packets", header.Stats.Packets)
	return nil
}

// stateError names the file, and gives advice about its content.
func stateError(name string, err error) error {
	if errors.Is(err, snapshot.ErrInvalid) {
		err = fmt.Errorf("%w: %w", errState, err)
	}
	if errors.Is(err, errState) {
		return fmt.Errorf("--state %s: %w; remove it, or give --state-mismatch begin, to begin anew", name, err)
	}
	if errors.Is(err, outfile.ErrNotState) {
		return fmt.Errorf("--state %w", err)
	}
	return fmt.Errorf("--state: %w", err)
}
