// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/distinct"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/report"
)

// saveFlags say where counters are saved.
type saveFlags struct {
	to, sensor string
	setLimit   float64 // 0 for none
}

// register adds the flags; what is what --save names.
func (s *saveFlags) register(fs *pflag.FlagSet, what string) {
	fs.StringVar(&s.to, "save", "", "save the counters of each window to `"+what+"`, for distinct --merge; needs --key")
	fs.Var(NewParsed(&s.sensor, "", "name", parseSensor), "sensor", "`NAME` of this sensor in files of --save")
	fs.Var(NewParsed(&s.setLimit, "", "N", parseAmount), "set-limit", "most keys of a window that are remembered: 10M; more are estimated, in 16 KiB")
	GroupOutput.Add(fs, "save", "sensor")
	GroupAdvanced.Add(fs, "set-limit")
}

var sensorNames = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// parseSensor reads the name of a sensor, which is a part of names of files.
func parseSensor(s string) (string, error) {
	if !sensorNames.MatchString(s) {
		return "", errors.New("must be up to 64 letters, digits, dots, dashes and underscores")
	}
	return s, nil
}

// check rejects flags that do not fit --save. With --hub the key is the hub's.
func (s *saveFlags) check(fs *pflag.FlagSet) error {
	if s.to != "" && !fs.Changed("key") && (fs.Lookup("hub") == nil || !fs.Changed("hub")) {
		return &usageError{errors.New("--save needs --key, the same for all sensors: --key $(openssl rand -hex 32), once")}
	}
	return s.checkTarget()
}

// checkTarget rejects what no file of counts can be saved to.
func (s *saveFlags) checkTarget() error {
	switch {
	case outfile.IsStdout(s.to):
		return &usageError{errors.New("--save needs a file, as --merge reads it in several places")}
	case s.to == "" && s.sensor != "":
		return &usageError{errors.New("--sensor names this sensor in files of --save")}
	}
	return nil
}

// checkFolder is check for a folder that gets a file for each window.
func (s *saveFlags) checkFolder(fs *pflag.FlagSet) error {
	if info, err := os.Stat(s.to); s.to != "" && (err != nil || !info.IsDir()) {
		return &usageError{fmt.Errorf("--save: %s is no folder: make it first, for one file a window", s.to)}
	}
	return s.check(fs)
}

// hostSensor returns the name of this host, as that of a sensor.
func hostSensor() string {
	name, err := os.Hostname()
	if err != nil || !sensorNames.MatchString(name) {
		return "sensor"
	}
	return name
}

// checkSave rejects what does not fit --save, --changes, --total and --set-limit.
func (f *distinctFlags) checkSave(fs *pflag.FlagSet) error {
	lists := f.method == "auto" || f.method == "sketch"
	switch {
	case f.overlap:
		return &usageError{errors.New("--overlap needs --merge, and files of --save")}
	case f.save.to != "" && !lists:
		return &usageError{fmt.Errorf("--save needs --method auto or sketch, not %s", f.method)}
	case f.save.setLimit > 0 && (f.method != "auto" || f.slide > 0):
		return &usageError{errors.New("--set-limit needs --method auto, and no --slide")}
	case f.changes && !lists && f.method != "exact":
		return &usageError{fmt.Errorf("--changes needs --method auto, exact or sketch, not %s, which cannot list its keys", f.method)}
	case f.slide > 0 && (f.changes || f.save.to != ""):
		return &usageError{errors.New("--changes and --save need windows that do not overlap: they exclude --slide")}
	case f.every == 0 && (f.changes || f.gaps || f.save.to != ""):
		return &usageError{errors.New("--changes, --gaps and --save need several windows: --every 1h, not none")}
	case (f.changes || f.save.to != "") && f.fpr < defaultFPR:
		return &usageError{fmt.Errorf("--fpr must be at least %g with --changes and --save, which compare 64 bits of each key", defaultFPR)}
	}
	return f.save.check(fs)
}

// columns returns which columns there are besides those of every run.
func (f *distinctFlags) columns() report.DistinctColumns {
	return report.DistinctColumns{Total: f.total, Changes: f.changes, Sensors: f.merge}
}

// openSaved has windows saved, if a file is named.
func (o *outputs) openSaved(ctx context.Context, f *saveFlags, cfg *distinct.Config) (err error) {
	if f.to == "" {
		return nil
	}
	if o.saved, err = distinct.CreateSaved(ctx, f.to, cfg.SaveHeader(f.sensor)); err == nil {
		cfg.Save = o.saved.Add
	}
	return err
}

// warnSketched says that keys did not fit.
func (o *outputs) warnSketched(e *Env, method string) {
	if o.sketched > 0 && method != "sketch" {
		e.Warn(fmt.Errorf("%d counts are estimates by sketches, because of --set-limit or --memory: low and high bound them", o.sketched))
	}
}

// mergeFlagNames are the flags that --merge takes.
var mergeFlagNames = map[string]bool{
	"merge": true, "overlap": true, "save": true, "sensor": true, "total": true, "json": true, "csv": true, "html": true, "quiet": true, "read": true, "help": true, "no-progress": true,
}

// runMerge unites saved files.
func (f *distinctFlags) runMerge(cmd *cobra.Command, e *Env, names []string) error {
	var wrong error
	cmd.Flags().Visit(func(one *pflag.Flag) {
		if !mergeFlagNames[one.Name] {
			wrong = &usageError{fmt.Errorf("--%s has no meaning with --merge, which counts as the files were saved", one.Name)}
		}
	})
	if wrong != nil {
		return wrong
	}
	named := Files{Outputs: []NamedFile{{"--csv", f.csv}, {"--save", f.save.to}, f.page.Named()}, Inputs: names}
	if err := errors.Join(CheckNamed(cmd.Flags()), named.Check(), f.save.checkTarget(), f.checkCSV(), f.page.Check(&f.Common)); err != nil {
		return err
	}
	e.Quiet.Store(f.Quiet)
	out, err := f.openOutputs(cmd.Context(), e)
	if err != nil {
		return err
	}
	bar := NewProgress(e, &f.Common)
	defer bar.Close()
	progress := func(done, total int64) { bar.update(done, total, 0) }
	rows := 0
	cfg := distinct.MergeConfig{Files: names, Total: f.total, Save: f.save.to, Sensor: f.save.sensor, Progress: progress, Rows: func(all []distinct.Row) error {
		rows += len(all)
		return out.rows(all)
	}}
	if f.overlap {
		cfg.Overlap = out.overlap
	}
	err = distinct.Merge(cmd.Context(), &cfg)
	bar.Close()
	closed := out.close(err == nil, rows > 0, 0)
	if errors.Is(err, distinct.ErrDiffer) {
		err = &usageError{err}
	}
	return errors.Join(err, f.lost(err), closed)
}

// overlap writes how sensors overlap to standard output.
func (o *outputs) overlap(one *distinct.Overlap) error {
	var err error
	switch {
	case o.json != nil:
		err = o.json.Overlap(one)
	case o.table != nil:
		err = o.table.Overlap(one)
	}
	return errors.Join(err, o.out.Flush())
}
