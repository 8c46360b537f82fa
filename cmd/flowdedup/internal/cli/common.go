package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/input"
	"github.com/flowdedup/flowdedup/engine/secret"
)

// common are the flags that every command on packets has.
type common struct {
	memory     int
	fpr        float64
	secret     secret.Secret
	method     string
	json       bool
	quiet      bool
	noProgress bool
	noMerge    bool
	workers    int
	filter     filterFlags
}

func (c *common) register(f *pflag.FlagSet, usual []string, measuring ...string) {
	c.filter.register(f)
	c.registerFilter(f, usual, measuring...)
	f.BoolVar(&c.noMerge, "no-merge", false, "read inputs one after another, not in time order")
	c.registerRun(f)
	f.BoolVar(&c.noProgress, "no-progress", false, "show no progress on a terminal")
	groupInput.add(f, "no-merge")
	groupAdvanced.add(f, "no-progress")
}

// registerFilter adds the flags of what remembers elements. Methods for measuring are
// those that nobody needs for traffic.
func (c *common) registerFilter(f *pflag.FlagSet, usual []string, measuring ...string) {
	usage := "filter method: " + strings.Join(usual, ", ")
	if len(measuring) > 0 {
		usage += "; for measurements (with --window none, but for timers): " + strings.Join(measuring, ", ")
	}
	c.method = "auto"
	c.fpr = defaultFPR
	f.Var(newParsed(&c.method, "auto", "method", oneOf(slices.Concat(usual, measuring)...)), "method", usage)
	f.Var(newParsed(&c.memory, "", "size", parseMemory), "memory", "filter memory: 8MiB, 64M, l1, l2, l3 (default: as needed)")
	f.Var(newParsed(&c.fpr, "1e-9", "probability", parseFPR), "fpr", "highest false positive rate")
	f.Var(newParsed(&c.secret, "", "hex", secret.Parse), "key", "secret key, 32 bytes in hex (default: random)")
	groupAdvanced.add(f, "method", "memory", "fpr", "key")
}

// registerRun adds the flags of how a command runs and what it prints.
func (c *common) registerRun(f *pflag.FlagSet) {
	c.workers = defaultWorkers()
	f.Var(newParsed(&c.workers, "0", "N", parseWorkers), "workers", "number of threads, whatever it is the result is the same (0: one per processor)")
	f.BoolVar(&c.json, "json", false, "print JSON")
	f.BoolVarP(&c.quiet, "quiet", "q", false, "print errors only")
	groupOutput.add(f, "json", "quiet")
	groupAdvanced.add(f, "workers")
}

const defaultFPR = 1e-9

// finish completes what flags leave open.
func (c *common) finish(f *pflag.FlagSet) error {
	if err := c.filter.load(); err != nil {
		return err
	}
	if f.Changed("key") {
		return nil
	}
	secret, err := secret.Random()
	if err != nil {
		return fmt.Errorf("make a random key: %w", err)
	}
	c.secret = secret
	return nil
}

// inputs says how to read inputs, and where to tell of it.
func (c *common) inputs(e *env, bar *progress) input.Options {
	return input.Options{NoMerge: c.noMerge, Filter: c.filter.wanted, Wrap: e.wrap, Warn: e.warn, Progress: bar.update}
}
