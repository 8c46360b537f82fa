package cli

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/capture/rotate"
)

// checkTerminal refuses to write packets to a terminal, which takes some of their bytes
// for commands. Empty names are none.
func (e *env) checkTerminal(outputs ...string) error {
	if e.terminal && slices.ContainsFunc(outputs, outfile.IsStdout) {
		return &usageError{errors.New("standard output is a terminal, which cannot show packets: name a file, or pipe into a program (-w - | tcpdump -r -)")}
	}
	return nil
}

// rotateFlags are the flags of commands that write packets to files in turn.
type rotateFlags struct {
	size      int64
	every     time.Duration
	keep      int
	keepBytes int64
}

func (r *rotateFlags) register(f *pflag.FlagSet) {
	f.Var(newParsed(&r.size, "", "size", parseFileSize), "rotate-size", "limit the size of an output file: 1GiB, 500MB")
	f.Var(newParsed(&r.every, "", "duration", parseEvery), "rotate-every", "start a file at each full 15m, 1h, 1d in UTC")
	f.IntVar(&r.keep, "rotate-keep", 0, "keep only the newest `N` output files (0: all)")
	f.Var(newParsed(&r.keepBytes, "", "size", parseFileSize), "rotate-keep-bytes", "keep only the newest files that fit: 100GiB")
	groupOutput.add(f, "rotate-size", "rotate-every", "rotate-keep", "rotate-keep-bytes")
}

// check refuses what cannot be meant, where outputs are the files that could rotate;
// empty names are none.
func (r *rotateFlags) check(outputs ...string) error {
	rotates := r.size > 0 || r.every > 0
	switch {
	case r.keep < 0:
		return &usageError{errors.New("--rotate-keep must not be negative")}
	case (r.keep > 0 || r.keepBytes > 0) && !rotates:
		return &usageError{errors.New("--rotate-keep and --rotate-keep-bytes need --rotate-size or --rotate-every")}
	}
	if !rotates {
		return nil
	}
	for _, name := range outputs {
		if name != "" {
			return nil
		}
	}
	return &usageError{errors.New("--rotate-size and --rotate-every need an output file (-w)")}
}

func (r *rotateFlags) options() rotate.Options {
	return rotate.Options{Size: r.size, Every: r.every, Keep: r.keep, KeepBytes: r.keepBytes}
}

// minFileSize keeps a mistyped unit from making a file of each packet.
const minFileSize = 1 << 10

// parseFileSize reads a size such as 1GiB.
func parseFileSize(s string) (int64, error) {
	n, err := humanize.ParseBytes(s)
	if err != nil || n < minFileSize || n > 1<<60 {
		return 0, fmt.Errorf("must be a size such as 1GiB or 500MB, at least 1KiB")
	}
	return int64(n), nil
}
