// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"fmt"
	"testing"

	"github.com/flowdedup/flowdedup/engine/internal/check"
	"github.com/flowdedup/flowdedup/layout"
)

func mustStream(t testing.TB, c Config) *Filter { return check.New(t, New, c) }

// kind is the kind of Packets, with configurations of all methods.
func kind() check.SavedPacketKind[Config, *Packets] {
	const copied = 1<<20 + 64 // more than one part of a copy, and no whole words
	k := check.SavedPacketKind[Config, *Packets]{
		Restore: RestorePackets,
		Cut:     map[string]Config{},
		Copied:  map[string]Config{"lru": {Method: "lru", Memory: copied}, "sbf": {Method: "sbf", Memory: copied}},
	}
	k.New, k.Refused, k.Slices, k.Small = NewPackets, refused, 1, Config{Method: "sbf", Memory: 6400}
	k.Memory = func(f *Packets) []layout.Line { return f.filter.arena.Lines() }
	for _, c := range streamConfigs() {
		c.Memory = 100 * layout.LineSize
		k.Cut[fmt.Sprintf("%+v", c)] = c
		k.Batches = append(k.Batches, c)
	}
	for _, p := range []struct {
		Config
		verdicts, state string
	}{
		{Config{Method: "lru", Shape: "8x8"}, "78b521db", "6973252943fe5736"},
		{Config{Method: "qht", Shape: "4x16"}, "536428f6", "af9164406dd8e448"},
		{Config{Method: "qqhtd", Shape: "8x64"}, "f6fe6281", "05df5d4a3b3bf5e4"},
		{Config{Method: "sbf"}, "2935480a", "43fbf621c375c2fa"},
		{Config{Method: "sbf", K: 3, P: 10, Max: 3}, "24dc94a7", "269bdc268f234027"},
		{Config{Method: "rsbf"}, "177f2b52", "5cf0e2445a3ccf9e"},
		{Config{Method: "bsbf", K: 3}, "2cba16b0", "b57043f7519a3bf1"},
		{Config{Method: "bsbfsd"}, "3db3768e", "43a4777db27a880b"},
		{Config{Method: "rlbsbf"}, "720af1df", "5cd7be451b186032"},
		{Config{Method: "qhtd", Shape: "8x8"}, "224123f8", "a277ca6a1b19c946"},
		{Config{Method: "qqht", Shape: "32x16"}, "94d50b0e", "a1d842b0f797e5fa"},
	} {
		p.Memory = 6400
		k.Pinned = append(k.Pinned, check.Pinned[Config]{Config: p.Config, Clock: "in order", Verdicts: p.verdicts, State: p.state})
	}
	return k
}

func TestFilter(t *testing.T) {
	kind().Test(t)
	check.Refuses(t, New, refused)
	check.Refuses(t, NewCounter, refused[:1])
	f := mustStream(t, Config{Memory: 6400})
	f.Close()
	check.Panics(t, "closed", func() { f.TestAndSet(make([]uint64, 1), check.Digests(7, 1)) })
}

func FuzzRestoreStream(f *testing.F) {
	var filters []*Filter
	for _, c := range streamConfigs() {
		c.Memory = 192
		s := mustStream(f, c)
		streamVerdicts(s, check.Repeating(14, 100), constant(100))
		filters = append(filters, s)
	}
	check.FuzzRestore(f, Restore, func(s *Filter) {
		s.TestAndSet(make([]uint64, 32), check.Repeating(15, 2000))
		s.Stats()
	}, filters...)
}
