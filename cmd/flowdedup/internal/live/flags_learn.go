// SPDX-License-Identifier: Apache-2.0

package live

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
)

// registerLearn adds the flags of runs that find out themselves what to remove.
func (f *flags) registerLearn(fs *pflag.FlagSet) {
	fs.Var(cli.NewParsed(&f.learn, "", "duration", cli.ParseLength), "learn", "inspect packets for this time first, and choose what to remove: 1m")
	f.learnEvery = time.Hour
	fs.Var(cli.NewParsed(&f.learnEvery, "1h", "duration", cli.ParseLength), "learn-every", "inspect again this often")
	cli.GroupCompare.Add(fs, "learn")
	cli.GroupAdvanced.Add(fs, "learn-every")
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
