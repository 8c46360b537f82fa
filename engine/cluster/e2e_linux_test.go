// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	benchlab "github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/engine/remote"
)

// wide is a window that packets in a busy machine keep, however long a router has them.
const wide = "500ms"

// patient is a verdict wait that no busy machine exceeds.
const patient = "--verdict-wait=20s"

// TestSensorsAndHub runs a hub and four sensors beside one routed path. Each packet must be
// in the output of one sensor, and the hub's matrix must be the truth. A sensor does not
// wait for a hub that a busy machine does not run: it lets packets pass unchecked. Then
// fewer come in a second.
func TestSensorsAndHub(t *testing.T) {
	const fastest, slowest = 2000, 60
	for rate := fastest; ; rate /= 3 {
		unchecked := 0
		t.Run(fmt.Sprint(rate, " packets a second"), func(t *testing.T) { unchecked = sensorsAndHub(t, rate) })
		if unchecked == 0 || t.Failed() {
			return
		}
		if rate < slowest {
			t.Fatalf("%d packets stay unchecked at %d a second", unchecked, rate)
		}
	}
}

// sensorsAndHub is one try. It returns how many packets were not checked: of each of these,
// copies may stay.
func sensorsAndHub(t *testing.T, rate int) (unchecked int) {
	l := newLab(t, "--window", wide)
	for _, s := range sites {
		l.sensor(s.name, patient)
	}
	packets := 2 * rate
	l.send(0, packets, rate)
	benchlab.Settle()
	keptAt := make([]string, packets)
	kept, again := map[string]int{}, 0
	for _, s := range sites {
		sum, numbers := l.stopSensor(s.name)
		if sum.PacketsIn != packets || sum.HubCopies != packets-sum.PacketsOut {
			t.Errorf("site %s: %+v", s.name, sum)
		}
		unchecked += sum.Unchecked
		for _, n := range numbers {
			if keptAt[n] != "" {
				again++
			}
			keptAt[n] = s.name
			kept[s.name]++
		}
	}
	if n := slices.Index(keptAt, ""); n >= 0 {
		t.Fatalf("packet %d is lost", n)
	}
	t.Logf("kept at %v, %d unchecked", kept, unchecked)
	if again > unchecked {
		t.Errorf("%d packets are kept again, %d were unchecked", again, unchecked)
	}
	for _, p := range l.status().Matrix {
		if want := uint64(kept[p.First]); unchecked == 0 && (p.First == p.Copy || p.Copies != want) {
			t.Errorf("%d copies at %s of packets of %s, want %d", p.Copies, p.Copy, p.First, want)
		}
	}
	return unchecked
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
	l.send(0, 3000, 1000)
	time.Sleep(1500 * time.Millisecond)
	others[0].kill()
	l.send(3000, 8000, 1000)
	l.shared(2)
	l.send(8000, 11000, 1000) // each slice is found again
	time.Sleep(2 * time.Second)
	l.send(11000, 13000, 1000)
	time.Sleep(1500 * time.Millisecond)
	counts, unchecked := l.counts(13000, "a", "b", "c", "d")
	once(t, counts, 0, 3000)
	once(t, counts, 11000, 13000)
	t.Log(unchecked, "unchecked")
}

// shared waits until so many hubs have a share of the slices, and no slice is left.
func (l *lab) shared(hubs int) {
	l.t.Helper()
	for range 60 {
		st, having := l.status(), 0
		for _, h := range st.Hubs {
			if h.Slices > 0 {
				having++
			}
		}
		if having == hubs && len(st.Unowned) == 0 {
			return
		}
		time.Sleep(500 * time.Millisecond)
	}
	l.t.Fatalf("never %d hubs with slices: %+v", hubs, l.status().Hubs)
}

// counts counts in how many outputs each packet is.
func (l *lab) counts(packets int, sites ...string) (counts []int, unchecked int) {
	l.t.Helper()
	counts = make([]int, packets)
	for _, site := range sites {
		sum, numbers := l.stopSensor(site)
		unchecked += sum.Unchecked
		if sum.PacketsIn != packets {
			l.t.Errorf("site %s saw %d packets of %d", site, sum.PacketsIn, packets)
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

// once wants packets of a range in one output each.
func once(t *testing.T, counts []int, from, to int) {
	t.Helper()
	more := 0
	for _, c := range counts[from:to] {
		more += c - 1
	}
	if more != 0 {
		t.Errorf("of packets %d to %d, %d are kept too often", from, to, more)
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
	l.send(0, 2000, 1000)
	time.Sleep(1500 * time.Millisecond)
	l.hub.kill()
	l.send(2000, 4000, 1000)
	l.startHub()
	time.Sleep(2 * time.Second) // they connect again
	l.send(4000, 7000, 1000)    // each slice finds it out
	time.Sleep(2 * time.Second)
	l.send(7000, 9000, 1000)
	time.Sleep(500 * time.Millisecond)
	counts, unchecked := l.counts(9000, "a", "d")
	once(t, counts, 0, 2000)
	once(t, counts, 7000, 9000)
	if unchecked < 2*1900 {
		t.Errorf("%d packets unchecked, though the hub was away for 2000", unchecked)
	}
	t.Log(unchecked, "unchecked")
}

// TestSensorKilled kills a sensor. What it had is gone with it, but the others go on: each
// packet that comes later is kept once.
func TestSensorKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 10 s")
	}
	l := newLab(t, "--window", wide)
	for _, site := range []string{"a", "b", "d"} {
		l.sensor(site, patient)
	}
	l.send(0, 2000, 1000)
	l.sensors["a"].kill()
	l.send(2000, 4000, 1000)
	time.Sleep(500 * time.Millisecond)
	counts := make([]int, 4000)
	for _, site := range []string{"b", "d"} {
		_, numbers := l.stopSensor(site)
		for _, n := range numbers {
			counts[n]++
		}
	}
	once(t, counts, 2000, 4000)
	for n, c := range counts[2000:] {
		if c == 0 {
			t.Fatalf("packet %d is lost", 2000+n)
		}
	}
}

// TestCut cuts the cable between two sites and the hub for 20 s. No packet is lost: the
// sites pass all, and say how many that were. Afterwards all is as before.
func TestCut(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 40 s")
	}
	l := newLab(t, "--window", wide)
	for _, s := range sites {
		l.sensor(s.name, "--verdict-wait=1s")
	}
	l.send(0, 2000, 1000)
	time.Sleep(1500 * time.Millisecond)
	l.hubNet.ip("link set two down") // the sites' end stays up
	l.send(2000, 22000, 1000)
	l.hubNet.ip("link set two up")
	time.Sleep(5 * time.Second)
	l.send(22000, 25000, 1000)
	time.Sleep(2 * time.Second)
	l.send(25000, 27000, 1000)
	time.Sleep(1500 * time.Millisecond)
	counts, unchecked := l.counts(27000, "a", "b", "c", "d")
	once(t, counts, 0, 2000)
	once(t, counts, 25000, 27000)
	if unchecked < 2*18000 {
		t.Errorf("%d packets unchecked, though two sites were cut off for 20000", unchecked)
	}
	t.Log(unchecked, "unchecked")
}

// TestWrongTokens wants one line that says what to do, and exit code 1.
func TestWrongTokens(t *testing.T) {
	l := newLab(t)
	change := func(change func(*remote.Token)) string {
		token, err := remote.DecodeToken(l.token("a"))
		if err != nil {
			t.Fatal(err)
		}
		change(&token)
		return token.Encode()
	}
	removed := l.token("b")
	l.hubNet.run(filepath.Join(l.programs, "flowdedup-hub"), "remove", "b", "--state", l.hubDir)
	for name, c := range map[string]struct{ token, want string }{
		"another key":    {change(func(t *remote.Token) { t.Key[3]++ }), "another key"},
		"another layout": {change(func(t *remote.Token) { t.Epoch++ }), "laid out anew"},
		"another site":   {change(func(t *remote.Token) { t.Site = "c" }), "join-token"},
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
