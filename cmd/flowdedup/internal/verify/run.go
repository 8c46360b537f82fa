// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"context"
	"errors"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/capture/pipeline"
	"github.com/flowdedup/flowdedup/capture/strip"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/analysis/verify"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/input"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/version"
)

// config configures a run. The caller has checked everything in it.
type config struct {
	Inputs     []string
	Output     string
	Duplicates string   // "" for none
	Headers    []string // that the output lacks, as --strip names them
	Input      input.Options
	verify.Config
	total int // bytes of memory that --memory allows
}

// overhead is what the program takes without packets, in bytes.
const overhead = 32 << 20

// remembered returns how much of a memory packets may take: what the program leaves of it, but no
// less than half.
func remembered(memory int) int { return max(memory/2, memory-overhead) }

// boundHeap keeps garbage within the memory of a run. It returns a function that ends this. A lower
// limit, such as that of GOMEMLIMIT, takes precedence.
func boundHeap(memory int) (end func()) {
	before := debug.SetMemoryLimit(-1)
	debug.SetMemoryLimit(min(before, max(int64(memory)-overhead/2, overhead/2)))
	return func() { debug.SetMemoryLimit(before) }
}

// files returns the names of all captures.
func (c *config) files() []string {
	return slices.Concat(c.Inputs, c.in(c.Output), c.in(c.Duplicates))
}

// in returns the files of an output: a file for each input if it is a folder.
func (c *config) in(output string) (files []string) {
	switch {
	case output == "":
		return nil
	case !sink.IsFolder(output):
		return []string{output}
	}
	for _, input := range c.Inputs {
		files = append(files, sink.InFolder(output, input))
	}
	return files
}

// open opens the files of an output. Files that are not read yet are closed if they are many.
func (c *config) open(ctx context.Context, output string) (sources []capture.Source, err error) {
	names := c.in(output)
	opt := pcapfile.Options{Warn: c.Input.Warn}
	if len(names) > 1 {
		opt.ChunkSize = pcapfile.MergeChunkSize(len(names))
	}
	for _, name := range names {
		var src capture.Source
		if err := outfile.Until(ctx, func() (err error) {
			src, err = pcapfile.Open(name, opt)
			return err
		}); err != nil {
			return sources, err
		}
		if len(names) > 1 {
			pcapfile.Park(src)
		}
		sources = append(sources, src)
	}
	return sources, nil
}

// summary is the answer of "flowdedup verify --json".
type summary struct {
	version.Heading
	Same bool `json:"same"`
	verify.Report
	Filtered uint64        `json:"filtered"`
	Window   string        `json:"window"`
	Identity string        `json:"identity"`
	Damaged  bool          `json:"damaged"`
	Took     time.Duration `json:"elapsed_ns"`
	// First is null if there is no difference.
	First *first `json:"first_difference"`
	// Fits has the flags with which the output is right, if it is not with the flags given.
	Fits *string `json:"fits"`
}

// first is the first difference.
type first struct {
	Kind   verify.Kind `json:"kind"`
	File   string      `json:"file"`
	Packet uint64      `json:"packet"` // its number in the file; of several inputs, in their order
	Time   *string     `json:"time"`   // null if the packet has none
}

// run checks the output. The summary is valid with every error, except errors of opening
// files. A damaged capture is checked up to the damage.
func run(ctx context.Context, cfg *config) (summary, error) {
	begin := time.Now()
	headers, err := strip.ParseHeaders(cfg.Headers)
	if err != nil {
		return summary{}, err
	}
	if headers != 0 {
		stripper := strip.New(strip.Config{Headers: headers, Tunnels: cfg.Identity.Tunnels})
		cfg.Strip = func(b *capture.Batch) *capture.Batch { return stripper.Strip(b, nil) }
	}
	defer boundHeap(cfg.total)()
	cfg.Input.Tunnels = cfg.Identity.Tunnels
	cfg.Input.Reassemble = (cfg.Identity.Kind == identity.Inner || headers&strip.Tunnel != 0) && cfg.Sort.Span == 0 // else the verifier does
	in, err := input.Open(ctx, cfg.Inputs, cfg.Input)
	if err != nil {
		return summary{}, err
	}
	defer in.Close()
	opened := *cfg
	opened.Inputs = in.Inputs()
	cfg = &opened
	var files [2][]capture.Source
	for i, name := range []string{cfg.Output, cfg.Duplicates} {
		files[i], err = cfg.open(ctx, name)
		defer func() {
			for _, src := range files[i] {
				if ctx.Err() == nil { // else a pipe may be waited for
					_ = src.Close()
				}
			}
		}()
		if err != nil {
			return summary{}, err
		}
	}
	v, err := verify.New(cfg.Config, files[0], files[1])
	if err != nil {
		return summary{}, err
	}
	err = outfile.Until(ctx, func() error {
		return in.Each(ctx, 1, func() pipeline.Task {
			return pipeline.InOrder(func(b *capture.Batch) error {
				v.Add(b)
				return nil
			})
		})
	})
	if ctx.Err() != nil {
		return summary{}, err // nothing is known about captures that were not read
	}
	report, unread := v.Report()
	s := newSummary(cfg, report)
	s.Filtered, s.Damaged, s.Took = in.Filtered(), in.Damaged(err) || capture.IsUnread(unread), time.Since(begin)
	return s, errors.Join(append(in.Failed(), err, unread)...)
}

// exchanged reports whether the input is a right output of what was named as the output.
func (c *config) exchanged(ctx context.Context) bool {
	if len(c.Inputs) != 1 || c.Duplicates != "" || !c.regular() {
		return false
	}
	other := *c
	other.Inputs, other.Output = []string{c.Output}, c.Inputs[0]
	s, err := run(ctx, &other)
	return err == nil && s.Same
}

// regular reports whether all captures are files, which can be read again.
func (c *config) regular() bool {
	return !slices.ContainsFunc(c.files(), func(name string) bool {
		info, err := os.Stat(name)
		return err != nil || !info.Mode().IsRegular()
	})
}

// stripped are the headers that explain tries, the most usual first.
var stripped = []string{"vlan", "tunnel", "vlan,tunnel", "mpls", "pppoe", "vlan,mpls", "vlan,mpls,pppoe", "vlan,mpls,pppoe,tunnel", "arista"}

// explain looks for flags that make a wrong output right. With them, nobody knows whether the output
// is right: its differences become unknown. It reads the
// captures again for each try, so it takes files only.
func (f *flags) explain(cmd *cobra.Command, cfg *config, s *summary) {
	if !cfg.regular() {
		return
	}
	given := func(names ...string) bool { return slices.ContainsFunc(names, cmd.Flags().Changed) }
	var words []string
	at, report := *cfg, *s
	// try runs with other settings, and keeps them if that is better.
	try := func(c config, better func(*summary) bool, flag string) {
		if r, err := run(cmd.Context(), &c); err == nil && better(&r) {
			at, report, words = c, r, append(words, flag)
		}
	}
	known := func(r *summary) bool { return r.Foreign == 0 }
	right := func(r *summary) bool { return r.Same }
	if c := at; c.Duplicates != "" && len(c.Inputs) == 1 && !given("read") && cmd.ArgsLenAtDash() < 0 && report.Foreign > 0 {
		c.Inputs, c.Output, c.Duplicates = []string{c.Inputs[0], c.Output}, c.Duplicates, ""
		try(c, known, "-- before the output")
	}
	for _, names := range stripped {
		if c := at; report.Foreign > 0 && !given("strip", "for") {
			c.Headers = strings.Split(names, ",")
			try(c, known, "--strip "+names)
		}
	}
	changes := []struct {
		flag  string
		given bool
		set   func(*config)
	}{
		{"--identity inner", given("identity"), func(c *config) { c.Identity.Kind = identity.Inner }},
		{"--window 1s", given("window"), func(c *config) { c.Window, c.Tolerance = time.Second, usualTolerance }},
		{"--ignore l4-checksum", given("ignore", "for"), func(c *config) { c.Identity.Ignore = identity.IgnoreAlso(identity.L4Checksum) }},
	}
	for some := 1; some < 1<<len(changes) && report.Foreign == 0 && !report.Same; some++ {
		c, flags, tried := at, []string(nil), true
		for i := range changes {
			if one := &changes[i]; some>>i&1 != 0 {
				one.set(&c)
				flags, tried = append(flags, one.flag), tried && !one.given
			}
		}
		if tried {
			try(c, right, strings.Join(flags, " "))
		}
	}
	if !report.Same || len(words) == 0 {
		return
	}
	fits := strings.Join(words, " and ")
	report.Fits, report.Unknown, report.Same = &fits, max(s.Lost, s.Foreign), false
	*s = report
}
