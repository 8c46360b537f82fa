// SPDX-License-Identifier: Apache-2.0

package distinct

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/count"
)

// checkSave rejects flags that exclude --save, --changes, --total and --set-limit.
func (f *flags) checkSave() error {
	switch {
	case f.save.SetLimit > 0 && f.Method != "auto":
		return cli.Usagef("--set-limit needs --method auto, not %s", f.Method)
	case (f.changes || f.save.To != "") && f.FPR < cli.DefaultFPR:
		return cli.Usagef("--fpr must be at least %g with --changes and --save, which compare 64 bits of each key", cli.DefaultFPR)
	}
	return f.save.Check()
}

// columns returns the optional columns of the run.
func (f *flags) columns() moreColumns {
	return moreColumns{Total: f.total, Top: f.top.Given(), Changes: f.changes, Sensors: f.merge, Whole: f.Every <= 0}
}

// openSaved has windows saved, if a file is named.
func (o *outputs) openSaved(ctx context.Context, f *cli.SaveFlags, cfg *Config) (err error) {
	if f.To == "" {
		return nil
	}
	if o.saved, err = count.CreateSaved(ctx, f.To, cfg.SaveHeader(f.Sensor)); err == nil {
		cfg.Save = o.saved.Add
	}
	return err
}

// warnSketched says that keys did not fit.
func (o *outputs) warnSketched(e *cli.Env, method string) {
	if o.sketched > 0 && method != "sketch" {
		e.Warn(fmt.Errorf("%d counts are estimates by sketches, because of --set-limit or --memory: low and high bound them", o.sketched))
	}
}

// mergeFlagNames are the flags that --merge takes.
var mergeFlagNames = map[string]bool{
	"merge": true, "overlap": true, "save": true, "sensor": true, "total": true, "json": true, "csv": true, "html": true, "quiet": true, "read": true, "help": true, "no-progress": true,
}

// runMerge unites saved files.
func (f *flags) runMerge(cmd *cobra.Command, e *cli.Env, names []string) error {
	var wrong error
	cmd.Flags().Visit(func(one *pflag.Flag) {
		if !mergeFlagNames[one.Name] {
			wrong = cli.Usagef("--%s has no meaning with --merge, which counts as the files were saved", one.Name)
		}
	})
	if wrong != nil {
		return wrong
	}
	named := cli.Files{Outputs: []cli.NamedFile{{Flag: "--csv", Name: f.csv}, {Flag: "--save", Name: f.save.To}, f.page.Named()}, Inputs: names}
	if err := errors.Join(cli.CheckFlags(cmd.Flags()), named.Check(), f.save.Check(), f.checkCSV(), f.page.Check(&f.Common)); err != nil {
		return err
	}
	e.Quiet.Store(f.Quiet)
	out, err := f.openOutputs(cmd, e, names)
	if err != nil {
		return err
	}
	bar := cli.NewProgress(e, &f.Common)
	defer bar.Close()
	progress := func(done, total int64) { bar.Update(done, total, 0) }
	rows := 0
	cfg := mergeConfig{Files: names, Total: f.total, Save: f.save.To, Sensor: f.save.Sensor, Progress: progress, Rows: func(all []count.Row) error {
		rows += len(all)
		return out.rows(all)
	}}
	if f.overlap {
		cfg.Overlap = out.overlap
	}
	err = merge(cmd.Context(), &cfg)
	bar.Close()
	closed := out.close(err == nil, rows > 0, 0)
	if errors.Is(err, errDiffer) {
		err = cli.Usage(err)
	}
	return errors.Join(err, f.lost(err), closed)
}

// overlap writes how sensors overlap to standard output.
func (o *outputs) overlap(one *overlap) error {
	var err error
	switch {
	case o.json != nil:
		err = o.json.overlap(one)
	case o.table != nil:
		err = o.table.overlap(one)
	}
	return errors.Join(err, o.out.Flush())
}
