// SPDX-License-Identifier: Apache-2.0

package live

import (
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
)

// learnFlags returns the flags of runs that find out themselves what to remove.
func (f *flags) learnFlags() []cli.Flag {
	f.learnEvery = time.Hour
	return []cli.Flag{
		{Name: "learn", Group: cli.GroupCompare, To: cli.NewParsed(&f.learn, "", "duration", cli.ParseLength), Words: []string{"10s", "1m"}, Needs: []string{"method=auto,timed"}, Not: []string{"identity identity-bytes ignore window across: --learn chooses it", "state: --learn chooses again after a restart"}, Help: "inspect packets for this time first, and choose what to remove: 1m"},
		{Name: "learn-every", Group: cli.GroupAdvanced, To: cli.NewParsed(&f.learnEvery, "1h", "duration", cli.ParseLength), Words: []string{"1h", "1d"}, Needs: []string{"learn: how long to inspect"}, Help: "inspect again this often"},
	}
}

// learnConfig returns what to learn.
func (f *flags) learnConfig() learnConfig {
	if f.learn == 0 {
		return learnConfig{}
	}
	return learnConfig{
		For: f.learn, Every: f.learnEvery, Intact: f.Intact,
		Hold: f.Hold,
	}
}
