// SPDX-License-Identifier: Apache-2.0

package live

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
)

// learnFlags returns the flags of runs that find out themselves what to remove.
func (f *flags) learnFlags() []cli.Flag {
	f.learnEvery = time.Hour
	return []cli.Flag{
		{Name: "learn", Group: cli.GroupCompare, To: cli.NewParsed(&f.learn, "", "duration", cli.ParseLength), Words: []string{"10s", "1m"}, Help: "inspect packets for this time first, and choose what to remove: 1m"},
		{Name: "learn-every", Group: cli.GroupAdvanced, To: cli.NewParsed(&f.learnEvery, "1h", "duration", cli.ParseLength), Words: []string{"1h", "1d"}, Help: "inspect again this often"},
	}
}

// learnedFlags are the flags whose values --learn chooses.
var learnedFlags = []string{"identity", "identity-bytes", "ignore", "window", "across"}

func (f *flags) checkLearn(fs *pflag.FlagSet) error {
	if f.learn == 0 {
		if fs.Changed("learn-every") {
			return cli.Usagef("--learn-every needs --learn, how long to inspect")
		}
		return nil
	}
	for _, name := range learnedFlags {
		if fs.Changed(name) {
			return cli.Usagef("--learn chooses --%s: leave one of them out", name)
		}
	}
	switch {
	case f.state != "":
		return cli.Usagef("--learn chooses again after a restart: leave out --state")
	case f.Method != "auto" && f.Method != "timed":
		return cli.Usagef("--learn uses --method timed, not %s", f.Method)
	}
	return nil
}

// learnConfig returns what to learn.
func (f *flags) learnConfig() LearnConfig {
	if f.learn == 0 {
		return LearnConfig{}
	}
	return LearnConfig{
		For: f.learn, Every: f.learnEvery, Intact: f.Intact,
		Hold: f.Hold,
	}
}
