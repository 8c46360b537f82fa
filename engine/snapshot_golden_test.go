package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/layout"
)

// checkState compares the bytes of a filter's snapshot with those that it always had: states
// that were written before can be restored.
func checkState(t *testing.T, name string, s snapshotter, want string) {
	t.Helper()
	sum := sha256.Sum256(snapshotOf(t, s))
	if got := hex.EncodeToString(sum[:8]); got != want {
		t.Errorf("%s: the state is %s, it was %s", name, got, want)
	}
}

func TestStreamState(t *testing.T) {
	digests := repeating(81, 20_000)
	for _, c := range []struct {
		StreamConfig
		want string
	}{
		{StreamConfig{Method: "lru", Shape: "8x8"}, "542589ac47303b73"},
		{StreamConfig{Method: "qht", Shape: "4x16"}, "598e5ab118da25c9"},
		{StreamConfig{Method: "qqhtd", Shape: "8x64"}, "382f21721719a3e6"},
		{StreamConfig{Method: "sbf"}, "2b8146a3aa6fde6e"},
		{StreamConfig{Method: "sbf", K: 3, P: 10, Max: 3}, "c9529ecc0a542cf4"},
		{StreamConfig{Method: "rsbf"}, "26cc1ad84a29e74c"},
		{StreamConfig{Method: "bsbf", K: 3}, "5059913eef6438fe"},
		{StreamConfig{Method: "bsbfsd"}, "60fa561e1f86e239"},
		{StreamConfig{Method: "rlbsbf"}, "26a1c9f328d07ddd"},
	} {
		c.Memory = 6400
		s := mustStream(t, c.StreamConfig)
		streamVerdicts(s, digests, constant(1000))
		checkState(t, fmt.Sprintf("%s %s %d", c.Method, c.Shape, c.Max), s, c.want)
	}
}

func TestTimedState(t *testing.T) {
	for _, c := range []struct {
		text, clock string
		limit       int
		want        string
	}{
		{"1ms", "in order", 0, "cb2a403c24c23cd2"},
		{"999999937ns", "jumps", 0, "d9a35d7ce2e0a952"},
		{"n:70", "in order", 0, "2c1dd61c43c3a4d0"},
		{"none", "in order", 0, "6398a4b74539f400"},
	} {
		f := newTimed(t, TimedConfig{Window: window(t, c.text), Memory: 6400, Across: c.limit == 0, Limit: c.limit})
		randomPackets(82, 20_000, clocks(100_000)[c.clock]).verdicts(f, 1000)
		checkState(t, c.text, f, c.want)
	}
	f := newTimed(t, growing(t, "1s"))
	burstStream(60_000, int64(time.Second), int64(time.Second)/2500).verdicts(f, 1000)
	if len(f.growth.older) == 0 {
		t.Error("no older lines")
	}
	checkState(t, "growing", f, "0ba9e20ae8ec2dbc")
}

func TestExactV4State(t *testing.T) {
	e := newSnapshotExactV4(t)
	e.TestAndSet(make([]uint64, 64), aimed(2000))
	checkState(t, "spilled", e, "d93b81887f96ee2d")
	addrs := make([]uint32, 40_000)
	for i := range addrs {
		addrs[i] = uint32(i) * 0x9e3779b1
	}
	e.Limit(64 << 10)
	seen := make([]uint64, len(addrs)/64+1)
	for at := 0; !e.rows.thinning || e.level == 0; at += 512 {
		e.TestAndSet(seen, addrs[at:at+512])
	}
	checkState(t, "thinning", e, "224d62e478e52c5b")
}

func TestDigestRowsState(t *testing.T) {
	r := newDigestRows(t, 0)
	feed(r, oneLine(3000), 100)
	checkState(t, "spilled", r, "4e612a86d4ae6550")
	digests := landmarkDigests(83, 100_000)
	for at := 0; !r.rows.growing() || r.rows.passed == 0; at += 512 {
		feed(r, digests[at:at+512], 512)
	}
	checkState(t, "growing", r, "a0c1472a4ff7a483")
}

func TestLandmarkState(t *testing.T) {
	l := newLandmark(t, LandmarkConfig{FPR: 0.1, Memory: 1})
	feed(l, landmarkDigests(84, 10_000), 100)
	checkState(t, "filters", l, "d8f4008fcc02e462")
}

func TestSlidingState(t *testing.T) {
	digests := landmarkDigests(85, 60_000)
	times := steady(len(digests), 20*time.Microsecond)
	s := mustSliding(t, SlidingConfig{Window: time.Second, Memory: 2048 * layout.LineSize})
	at := 0
	for ; !s.rows.growing(); at += 512 {
		s.TestAndSet(nil, digests[at:at+512], times[at:])
	}
	checkState(t, "growing", s, "d4f020427de03e79")
	for ; !s.rows.thinning; at += 512 {
		s.TestAndSet(nil, digests[at:at+512], times[at:])
	}
	checkState(t, "thinning", s, "6ec49653816f3de4")
	s.TestAndSet(nil, digests[:3], []int64{times[0] - 1e12, times[0] - 1e12, times[0] - 1e12})
	checkState(t, "held", s, "f6a373154399a07f")
}
