// SPDX-License-Identifier: Apache-2.0

package live

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flowdedup/flowdedup/capture/pcapoverip"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
)

// checkOutputs sorts the values of -w, and rejects outputs that do not fit together.
func (f *flags) checkOutputs() error {
	f.cfg.Outputs.Kept = ""
	if len(f.outputs) > 0 {
		f.cfg.Outputs.Kept = f.outputs[0]
	}
	isFile := func(name string) bool { return !pcapoverip.IsAddress(name) }
	shared := len(f.cfg.Outputs.Forward) + len(f.outputs)
	for _, names := range [][]string{f.outputs, f.cfg.Outputs.Forward} {
		for i, name := range names {
			if slices.Contains(names[:i], name) {
				return cli.Usagef("the output %s is named twice", name)
			}
		}
	}
	if i := slices.IndexFunc(f.outputs, isFile); i >= 0 {
		if len(f.outputs) > 1 {
			return cli.Usagef("-w %s: several -w are for tcp:// and tcp-listen://", f.outputs[i])
		}
		shared--
	}
	if f.balance != "" && shared < 2 {
		return cli.Usagef("--balance shares packets among several outputs: repeat --forward, or -w with tcp:// or tcp-listen://")
	}
	return nil
}

// others returns the outputs of -w but the first.
func (f *flags) others() []string { return f.outputs[min(1, len(f.outputs)):] }

// refuseForwards returns an error if packets sent out of an interface of to would show up at a
// captured interface.
func refuseForwards(captured, to []string) error {
	for _, name := range to {
		if err := refuseForward(captured, name); err != nil {
			return err
		}
	}
	return nil
}

// tcpdumpFlags returns the flags of tcpdump that have units of their own. Each stands for a flag of
// ours. -c, -i, -s, -w and -Z are plain short names.
func (f *flags) tcpdumpFlags() []cli.Flag {
	return []cli.Flag{
		{Name: "rotate-megabytes", Short: "C", Group: cli.GroupOutput, To: cli.NewParsed(&f.rotate.Size, "", "MB", parseMegabytes), Needs: []string{"write duplicates: they rotate"}, Not: []string{"rotate-size"}, Help: "--rotate-size in 10^6 bytes (or 1k, 1m, 1g)"},
		{Name: "rotate-seconds", Short: "G", Group: cli.GroupOutput, To: cli.NewParsed(&f.rotate.Every, "", "seconds", parseSeconds), Needs: []string{"write duplicates: they rotate"}, Not: []string{"rotate-every"}, Help: "--rotate-every in seconds"},
		{Name: "rotate-files", Short: "W", Group: cli.GroupOutput, To: cli.NewParsed(&f.rotate.Keep, "", "N", parseCount), Needs: []string{"rotate-megabytes rotate-size: use --duration to end a run"}, Not: []string{"rotate-keep", "rotate-every rotate-seconds: use --rotate-keep N to keep the newest N files, --duration to end a run"}, Help: "--rotate-keep, with -C"},
		{Name: "buffer-size", Short: "B", Group: cli.GroupAdvanced, To: cli.NewParsed(&f.Conf.RingBytes, "", "KiB", parseKibibytes), Not: []string{"ring-size"}, Help: "--ring-size in KiB"},
		{Name: "no-promiscuous-mode", Short: "p", Group: cli.GroupInput, To: &f.notPromiscuous, Not: []string{"promiscuous"}, Help: "same as --promiscuous=false"},
	}
}

// parseMegabytes reads a size as -C of tcpdump does.
func parseMegabytes(s string) (int64, error) {
	digits, unit := s, int64(1e6)
	for ending, value := range map[string]int64{"k": 1 << 10, "m": 1 << 20, "g": 1 << 30} {
		if rest, found := strings.CutSuffix(strings.ToLower(s), ending); found {
			digits, unit = rest, value
		}
	}
	n, err := strconv.ParseUint(digits, 10, 31)
	if err != nil || n == 0 {
		return 0, errors.New("must be a positive number of millions of bytes, or end with k, m or g")
	}
	return int64(n) * unit, nil
}

func parseSeconds(s string) (time.Duration, error) {
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil || n == 0 {
		return 0, errors.New("must be a positive number of seconds")
	}
	return time.Duration(n) * time.Second, nil
}

func parseCount(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil || n == 0 {
		return 0, errors.New("must be a positive number")
	}
	return int(n), nil
}

func parseKibibytes(s string) (int, error) {
	if _, err := parseCount(s); err != nil {
		return 0, errors.New("must be a positive number of KiB")
	}
	return cli.ParseMemory(s + "KiB")
}

// past returns the span before any moment that is counted, 0 for none.
func (f *flags) past() time.Duration {
	if f.cfg.Slide > 0 && len(f.Of) > 0 {
		return f.Every
	}
	return 0
}

// checkBudget rejects too little memory of all counters.
func (f *flags) checkBudget() error {
	counts := f.counters()
	if least := counts.LeastBudget(); f.distinctMemory > 0 && f.distinctMemory < least {
		return cli.Usagef("--distinct-memory must be at least %s for these keys", show.FlagBytes(least))
	}
	return nil
}
