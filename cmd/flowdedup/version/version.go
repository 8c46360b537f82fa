// SPDX-License-Identifier: Apache-2.0

// Package version says which version of the project a program is.
package version

import (
	"runtime/debug"
	"strings"
	"sync"
)

// revisionDigits is how much of a commit is shown: as many digits as in a pseudo-version.
const revisionDigits = 12

// String returns the version of the program that runs, with its commit, as in
// "v0.1.0 0123456789ab" or "v0.0.0-20261122230000-0123456789ab". It is "devel" where the
// build did not know the commit, and "unknown" for a program without build information.
func String() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return fromBuild(info)
}

// fromBuild returns the version that build information holds. A pseudo-version names the commit
// already, so the commit is added to other versions only.
func fromBuild(info *debug.BuildInfo) string {
	v := info.Main.Version
	if v == "" || v == "(devel)" {
		v = "devel"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= revisionDigits && !strings.Contains(v, s.Value[:revisionDigits]) {
			v += " " + s.Value[:revisionDigits]
		}
	}
	return v
}

// schema is the version of the JSON that commands print. It rises when a name, a unit or a
// meaning changes. New fields do not raise it.
const schema = 1

// Heading begins each JSON object that a command prints, except objects inside of others.
type Heading struct {
	Command string `json:"command"` // the command that printed the object; "hub" for flowdedup-hub
	Version string `json:"version"` // of the program, with its commit
	Schema  int    `json:"schema"`  // version of these fields: 1
}

// known is the result of String, which does not change during a run.
var known = sync.OnceValue(String)

// HeadingOf returns the heading of a command's output.
func HeadingOf(command string) Heading { return Heading{command, known(), schema} }
