// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/hubclient"
	"github.com/flowdedup/flowdedup/engine/hubclient/natslink"
)

// testLog gives lines to a test, until that ends.
type testLog struct {
	t  testing.TB
	mu sync.Mutex
}

func newTestLog(t testing.TB) *testLog {
	l := &testLog{t: t}
	t.Cleanup(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.t = nil
	})
	return l
}

func (l *testLog) Log(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.t != nil {
		l.t.Log(text)
	}
}

func (l *testLog) Warn(text string) { l.Log("warning: " + text) }

// lab is a hub with its server, on a port of its own.
type lab struct {
	t        testing.TB
	folder   *Folder
	settings Settings
	server   *Server
	hub      *Hub
	counts   int64       // bytes that the hub keeps
	bans     atomic.Bool // sites that send without end are banned
}

// newLab starts a hub with a folder that change may change.
func newLab(t testing.TB, change func(*Settings)) *lab {
	t.Helper()
	return startLab(t, change, 0)
}

// startLab is newLab with a hub that keeps the given number of bytes of counts.
func startLab(t testing.TB, change func(*Settings), counts int64) *lab {
	t.Helper()
	folder, settings, err := MakeFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	settings.Listen = "127.0.0.1:0"
	if change != nil {
		change(&settings)
	}
	l := &lab{t: t, folder: folder, settings: settings, counts: counts}
	l.start()
	t.Cleanup(l.stop)
	return l
}

func (l *lab) start() {
	l.t.Helper()
	var err error
	if l.server, err = StartServer(l.folder, l.settings, nil, newTestLog(l.t)); err != nil {
		l.t.Fatal(err)
	}
	l.settings.URL = l.server.URL()
	l.begin()
}

// ban bans a site, if the test wants that.
func (l *lab) ban(site string) {
	if l.bans.Load() {
		l.server.Ban(site)
	}
}

// begin starts the hub at its server.
func (l *lab) begin() {
	l.t.Helper()
	var err error
	l.hub, err = Start(Config{
		Name: "hub", Folder: l.folder, Settings: l.settings, Log: newTestLog(l.t), Memory: 1 << 22, Limit: 1 << 26, Counts: l.counts,
		Reload: l.server.Reload, Ban: l.ban, Bans: l.server.Bans, Denied: l.server.Denied, Dial: l.server.Dial(),
	})
	if err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) stop() {
	if l.hub == nil {
		return
	}
	if err := l.hub.Close(); err != nil {
		l.t.Error(err)
	}
	l.server.Close()
	l.hub = nil
}

// token returns the token of a site that the server knows.
func (l *lab) token(site string) hubclient.Token {
	l.t.Helper()
	token, err := l.folder.Join(l.settings, site)
	if err == nil {
		err = l.hub.Reload()
	}
	if err != nil {
		l.t.Fatal(err)
	}
	return token
}

// sensor is a site that asks.
type sensor struct {
	t      testing.TB
	client *hubclient.Client
	link   *natslink.Link
}

func (l *lab) sensor(site string) *sensor {
	l.t.Helper()
	hub := uint64(0)
	if slices.Contains(l.settings.Below, site) {
		hub = 1
	}
	return newSensor(l.t, l.token(site), hub)
}

// newSensor connects a site, which is a hub below if it has an identity.
func newSensor(t testing.TB, token hubclient.Token, hub uint64) *sensor {
	t.Helper()
	log := newTestLog(t)
	link, unreached, err := natslink.Dial(token, func(err error) { log.Warn(err.Error()) })
	if err = errors.Join(unreached, err); err != nil {
		t.Fatal(err)
	}
	client := hubclient.NewClient(hubclient.ClientConfig{Token: token, Wait: time.Minute, Block: true, Hub: hub}, link, "run")
	if err := link.Listen(client.Inbox(), client.Receive); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		link.Close()
	})
	if err := client.Ping(); err != nil {
		t.Fatal(err)
	}
	return &sensor{t, client, link}
}

// ask asks about packets, and returns which of them are copies.
func (s *sensor) ask(digests []uint64, times []int64) []bool {
	var a hubclient.Answers
	wide := make([]digest.Digest, len(digests))
	for i, d := range digests {
		wide[i][0] = d
	}
	s.client.Ask(&a, wide, times, make([]uint64, (len(digests)+63)/64))
	s.client.Wait(&a)
	if a.Unchecked > 0 {
		s.t.Errorf("%d unchecked", a.Unchecked)
	}
	copies := make([]bool, len(digests))
	for i := range copies {
		copies[i] = a.Copies[i/64]>>(i%64)&1 != 0
	}
	return copies
}

// TestRace has two sites send the same 100,000 packets at the same instants: each packet
// is new at one of them.
func TestRace(t *testing.T) {
	l := newLab(t, nil)
	sensors := []*sensor{l.sensor("a"), l.sensor("b")}
	const batches, n = 50, 2000
	rng := rand.New(rand.NewPCG(1, 1))
	now := time.Now().UnixNano()
	var barrier sync.WaitGroup
	for range batches {
		digests, times := make([]uint64, n), make([]int64, n)
		for i := range digests {
			digests[i], times[i] = rng.Uint64(), now
		}
		now += int64(time.Millisecond)
		verdicts := make([][]bool, 2)
		for i, s := range sensors {
			barrier.Go(func() { verdicts[i] = s.ask(digests, times) })
		}
		barrier.Wait()
		for i := range n {
			if verdicts[0][i] == verdicts[1][i] {
				t.Fatalf("packet %d: copy %v at both sites", i, verdicts[0][i])
			}
		}
	}
	st := l.hub.Status()
	sum := uint64(0)
	for _, p := range st.Matrix {
		sum += p.Copies
	}
	if sum != batches*n || len(st.Unowned) != 0 || st.Refused.Sum() != 0 || len(st.Sites) != 2 || st.Sites[0].Digests != batches*n {
		t.Errorf("%d copies, %+v", sum, st.Sites)
	}
}

// TestSlicesAgree has hubs of 1, 4 and 64 slices answer the same batches: the answers are
// the same.
func TestSlicesAgree(t *testing.T) {
	var first []bool
	for _, slices := range []int{1, 4, 64} {
		l := newLab(t, func(s *Settings) { s.Slices = slices })
		sensors := []*sensor{l.sensor("a"), l.sensor("b"), l.sensor("c")}
		rng := rand.New(rand.NewPCG(2, 1))
		var all []bool
		now := time.Now().UnixNano()
		for round := range 60 {
			digests, times := make([]uint64, 500), make([]int64, 500)
			for i := range digests {
				digests[i] = rng.Uint64N(1000) * 0x9e3779b97f4a7c15
				now += rng.Int64N(4000) / 1000 * 10_000
				times[i] = now
			}
			all = append(all, sensors[round%3].ask(digests, times)...)
		}
		if first == nil {
			first = all
		}
		for i := range all {
			if all[i] != first[i] {
				t.Fatalf("%d slices: packet %d: copy %v, with one slice %v", slices, i, all[i], first[i])
			}
		}
	}
}

// TestRestart stops a hub, and starts it again: slices keep their state, the matrix goes
// on, and owners have a higher number.
func TestRestart(t *testing.T) {
	l := newLab(t, nil)
	digests, times := []uint64{1, 1 << 40, 1 << 60}, []int64{0, 10_000, 20_000}
	for i := range times {
		times[i] += time.Now().UnixNano()
	}
	l.sensor("a").ask(digests, times)
	fence := l.hub.Status().PerSlice[0].Fence
	l.stop()
	l.start()
	if got := l.sensor("b").ask(digests, times); !slices.Equal(got, []bool{true, true, true}) {
		t.Error(got)
	}
	st := l.hub.Status()
	if st.PerSlice[0].Fence <= fence || len(st.Matrix) != 1 || st.Matrix[0].Copies != 3 {
		t.Errorf("fence %d after %d, %+v", st.PerSlice[0].Fence, fence, st.Matrix)
	}
	if err := l.hub.layout.store(0, []byte("damaged")); err != nil {
		t.Fatal(err)
	}
	if s, _, err := l.hub.restore(0, false); err != nil || len(s.Stats().Sites) != 0 {
		t.Error("a damaged snapshot", err)
	} else if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestLock keeps a second hub from a folder.
func TestLock(t *testing.T) {
	folder, _, err := MakeFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	lock, err := folder.Lock()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := folder.Lock(); !errors.Is(err, ErrFolder) {
		t.Error(err)
	}
	if err := lock.Unlock(); err != nil {
		t.Error(err)
	}
	again, err := folder.Lock()
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Unlock(); err != nil {
		t.Error(err)
	}
}
