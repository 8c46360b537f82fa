// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// wide is a window that packets in a busy machine keep, however long a router has them.
const wide = "500ms"

// patient is a verdict wait that no busy machine exceeds.
const patient = "--verdict-wait=20s"

// TestSensorsAndHub runs a hub and four sensors on one routed path. Each packet must be
// in the output of one sensor, and the hub's matrix must be the truth. A sensor does not
// wait for a hub that a busy machine does not run: it lets packets pass unchecked. The
// matrix counts packets that were all checked.
func TestSensorsAndHub(t *testing.T) {
	l := newLab(t, "--window", wide)
	for _, s := range sites {
		l.sensor(s.name, patient)
	}
	var before, after map[[2]string]uint64
	var checked round
	wait.Until(t, "packets that the hub checks", func() (ok bool) {
		before = l.matrix()
		checked, ok = l.round(4000, 2000)
		after = l.matrix()
		return ok
	})
	keptAt := make([]string, l.sent)
	kept, again, unchecked := map[string]uint64{}, 0, 0
	for _, s := range sites {
		sum, numbers := l.stopSensor(s.name)
		if sum.PacketsIn != l.sent || sum.HubCopies != l.sent-sum.PacketsOut {
			t.Errorf("site %s: %+v", s.name, sum)
		}
		unchecked += sum.Unchecked
		for _, n := range numbers {
			if keptAt[n] != "" {
				again++
			}
			keptAt[n] = s.name
			if checked.from <= n && n < checked.to {
				kept[s.name]++
			}
		}
	}
	if n := slices.Index(keptAt, ""); n >= 0 {
		t.Fatalf("packet %d is lost", n)
	}
	t.Logf("kept at %v, %d unchecked before", kept, unchecked)
	if again > unchecked {
		t.Errorf("%d packets are kept again, %d were unchecked", again, unchecked)
	}
	for pair := range after {
		if n := after[pair] - before[pair]; pair[0] == pair[1] || n != kept[pair[0]] {
			t.Errorf("%d copies at %s of packets of %s, want %d", n, pair[1], pair[0], kept[pair[0]])
		}
	}
}

// matrix returns how many packets of a site were copies at another: first and copy.
func (l *lab) matrix() map[[2]string]uint64 {
	l.t.Helper()
	all := map[[2]string]uint64{}
	for _, p := range l.status().Matrix {
		all[[2]string{p.First, p.Copy}] = p.Copies
	}
	return all
}

// TestThreeHubs shares the slices between three hubs. Each packet is kept once. When one hub
// is killed, the others take its slices: no packet is lost meanwhile, and afterwards each is
// kept once again.
func TestThreeHubs(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 30 s")
	}
	l := newLab(t, "--window", wide)
	line := strings.TrimSpace(l.hubNet.run(filepath.Join(l.programs, "flowdedup-hub"), "hub-token", "--state", l.hubDir))
	var others []*process
	for _, name := range []string{"second", "third"} {
		p := l.start(l.hubNet, "flowdedup-hub", "--state", l.dir+"/"+name, "--join", line, "--name", name, "--http", "none")
		p.wait("slices")
		others = append(others, p)
	}
	l.shared(3)
	for _, s := range sites {
		l.sensor(s.name, "--verdict-wait=1s")
	}
	before := l.checked()
	others[0].kill()
	l.send(5000, 1000)
	l.shared(2)
	after := l.checked() // each slice is found again
	counts, unchecked := l.counts("a", "b", "c", "d")
	once(t, counts, before, after)
	t.Log(unchecked, "unchecked")
}

// shared waits until the given number of hubs have a share of the slices, and no slice is
// left.
func (l *lab) shared(hubs int) {
	l.t.Helper()
	wait.Until(l.t, fmt.Sprint(hubs, " hubs with slices"), func() bool {
		st, having := l.status(), 0
		for _, h := range st.Hubs {
			if h.Slices > 0 {
				having++
			}
		}
		return having == hubs && len(st.Unowned) == 0
	})
}

// counts counts in how many outputs each packet is.
func (l *lab) counts(sites ...string) (counts []int, unchecked int) {
	l.t.Helper()
	counts = make([]int, l.sent)
	for _, site := range sites {
		sum, numbers := l.stopSensor(site)
		unchecked += sum.Unchecked
		if sum.PacketsIn != l.sent {
			l.t.Errorf("site %s saw %d packets of %d", site, sum.PacketsIn, l.sent)
		}
		for _, n := range numbers {
			counts[n]++
		}
	}
	extra := 0
	for n, c := range counts {
		if c == 0 {
			l.t.Fatalf("packet %d is lost", n)
		}
		extra += c - 1
	}
	if extra > unchecked {
		l.t.Errorf("%d packets are kept too often, %d were unchecked", extra, unchecked)
	}
	return counts, unchecked
}

// once wants the packets of rounds in one output each.
func once(t *testing.T, counts []int, rounds ...round) {
	t.Helper()
	for _, r := range rounds {
		more := 0
		for _, c := range counts[r.from:r.to] {
			more += c - 1
		}
		if more != 0 {
			t.Errorf("of packets %d to %d, %d are kept too often", r.from, r.to, more)
		}
	}
}

// TestHubKilled kills the hub, and starts it again. No packet is lost, and before and long
// after none is kept twice.
func TestHubKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 15 s")
	}
	l := newLab(t, "--window", wide)
	for _, site := range []string{"a", "d"} {
		l.sensor(site, "--verdict-wait=1s")
	}
	before := l.checked()
	l.hub.kill()
	l.send(2000, 1000)
	l.startHub()
	after := l.checked() // they have connected again, and each slice is found again
	counts, unchecked := l.counts("a", "d")
	once(t, counts, before, after)
	if unchecked < 2*1900 {
		t.Errorf("%d packets unchecked, though the hub was away for 2000", unchecked)
	}
	t.Log(unchecked, "unchecked")
}

// TestSensorKilled kills a sensor. Its state is gone, but the others go on: each later
// packet is kept once.
func TestSensorKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 10 s")
	}
	l := newLab(t, "--window", wide)
	for _, site := range []string{"a", "b", "d"} {
		l.sensor(site, patient)
	}
	l.send(2000, 1000)
	l.judged()
	l.sensors["a"].kill()
	delete(l.sensors, "a")
	after, _ := l.round(2000, 1000)
	counts := make([]int, l.sent)
	for _, site := range []string{"b", "d"} {
		_, numbers := l.stopSensor(site)
		for _, n := range numbers {
			counts[n]++
		}
	}
	once(t, counts, after)
	for n, c := range counts[after.from:] {
		if c == 0 {
			t.Fatalf("packet %d is lost", after.from+n)
		}
	}
}

// TestCut cuts the cable between two sites and the hub for 20 s. No packet is lost: the
// sites pass all, and report their number. Afterwards all is as before.
func TestCut(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 40 s")
	}
	l := newLab(t, "--window", wide)
	for _, s := range sites {
		l.sensor(s.name, "--verdict-wait=1s")
	}
	before := l.checked()
	l.hubNet.ip("link set two down") // the sites' end stays up
	l.send(20000, 1000)
	l.hubNet.ip("link set two up")
	after := l.checked()
	counts, unchecked := l.counts("a", "b", "c", "d")
	once(t, counts, before, after)
	if unchecked < 2*18000 {
		t.Errorf("%d packets unchecked, though two sites were cut off for 20000", unchecked)
	}
	t.Log(unchecked, "unchecked")
}

// TestWrongTokens wants one line with the remedy, and exit code 1.
func TestWrongTokens(t *testing.T) {
	l := newLab(t)
	change := func(change func(*hubclient.Token)) string {
		token, err := hubclient.DecodeToken(l.token("a"))
		if err != nil {
			t.Fatal(err)
		}
		change(&token)
		return token.Encode()
	}
	removed := l.token("b")
	l.hubNet.run(filepath.Join(l.programs, "flowdedup-hub"), "remove", "b", "--state", l.hubDir)
	for name, c := range map[string]struct{ token, want string }{
		"another key":    {change(func(t *hubclient.Token) { t.Key[3]++ }), "another key"},
		"another layout": {change(func(t *hubclient.Token) { t.Epoch++ }), "laid out anew"},
		"another site":   {change(func(t *hubclient.Token) { t.Site = "c" }), "join-token"},
		"removed":        {removed, "join-token"},
		"valid":          {l.token("a"), ""},
	} {
		p := l.start(l.one, "flowdedup", "dedup", "../../testdata/pcaps/router-plain.pcapng", "--hub", c.token, patient)
		<-p.ended
		text := p.stderr.String()
		code := p.cmd.ProcessState.ExitCode()
		if c.want == "" && (code != 0 || strings.Contains(text, "hub")) {
			t.Errorf("%s: exit code %d, %s", name, code, text)
		}
		if c.want != "" && code != 1 || !strings.Contains(text, c.want) {
			t.Errorf("%s: exit code %d, %s", name, code, text)
		}
	}
}
