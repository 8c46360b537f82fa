// SPDX-License-Identifier: Apache-2.0

// Package version says which version of the project a program is.
package version

import (
	"runtime/debug"
	"strings"
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
	return Of(info)
}

// Of returns the version that build information holds. A pseudo-version names the commit
// already, so the commit is added to other versions only.
func Of(info *debug.BuildInfo) string {
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
