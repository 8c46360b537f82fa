// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/live"
	"github.com/flowdedup/flowdedup/engine/window"
)

// registerLearn adds the flags of runs that find out themselves what to remove.
func (f *liveFlags) registerLearn(fs *pflag.FlagSet) {
	fs.Var(NewParsed(&f.learn, "", "duration", ParseLength), "learn", "inspect packets for this time first, and choose what to remove: 1m")
	f.learnEvery = time.Hour
	fs.Var(NewParsed(&f.learnEvery, "1h", "duration", ParseLength), "learn-every", "inspect again this often")
	GroupCompare.Add(fs, "learn")
	GroupAdvanced.Add(fs, "learn-every")
}

// learnedFlags are the flags whose values --learn chooses.
var learnedFlags = []string{"identity", "identity-bytes", "ignore", "window", "across"}

func (f *liveFlags) checkLearn(fs *pflag.FlagSet) error {
	if f.learn == 0 {
		if fs.Changed("learn-every") {
			return &usageError{errors.New("--learn-every needs --learn, how long to inspect")}
		}
		return nil
	}
	for _, name := range learnedFlags {
		if fs.Changed(name) {
			return &usageError{fmt.Errorf("--learn chooses --%s: leave one of them out", name)}
		}
	}
	switch {
	case f.state != "":
		return &usageError{errors.New("--learn chooses again after a restart: leave out --state")}
	case f.Method != "auto" && f.Method != "timed":
		return &usageError{fmt.Errorf("--learn uses --method timed, not %s", f.Method)}
	}
	return nil
}

// learnConfig returns what to learn.
func (f *liveFlags) learnConfig() live.LearnConfig {
	if f.learn == 0 {
		return live.LearnConfig{}
	}
	return live.LearnConfig{
		For: f.learn, Every: f.learnEvery, Intact: f.intact,
		Hold: func(w window.Window) time.Duration { return holdOf(f.hold, w) },
	}
}
