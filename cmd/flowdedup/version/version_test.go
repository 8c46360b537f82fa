// SPDX-License-Identifier: Apache-2.0

package version

import (
	"runtime/debug"
	"testing"
)

// TestOf wants the commit once, in a version of each kind.
func TestOf(t *testing.T) {
	const revision = "0123456789abcdef0123456789abcdef01234567"
	for _, c := range []struct{ version, revision, want string }{
		{"v0.1.0", revision, "v0.1.0 0123456789ab"},
		{"v0.0.0-20261122230000-0123456789ab", revision, "v0.0.0-20261122230000-0123456789ab"},
		{"v0.1.1-0.20261122230000-0123456789ab+dirty", revision, "v0.1.1-0.20261122230000-0123456789ab+dirty"},
		{"v0.1.0", "", "v0.1.0"},
		{"(devel)", revision, "devel 0123456789ab"},
		{"(devel)", "", "devel"},
		{"", "0123", "devel"},
	} {
		info := &debug.BuildInfo{
			Main:     debug.Module{Version: c.version},
			Settings: []debug.BuildSetting{{Key: "vcs.modified", Value: "false"}, {Key: "vcs.revision", Value: c.revision}},
		}
		if got := fromBuild(info); got != c.want {
			t.Errorf("%s of %s: %q, want %q", c.version, c.revision, got, c.want)
		}
	}
}
