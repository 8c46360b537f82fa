// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
)

// otherMessages, otherTrees and otherBundles build programs of another version, whose messages, whose
// messages between hubs, or whose bundles differ. FLOWDEDUP_OTHER may name a folder of an older version's programs instead.
var (
	otherMessages = sync.OnceValues(func() (string, error) { return other("request.go", "const version = 3\n", "const version = 2\n") })
	otherTrees    = sync.OnceValues(func() (string, error) {
		return other("work.go", "const TreeVersion = 3\n", "const TreeVersion = 2\n")
	})
	otherBundles = sync.OnceValues(func() (string, error) { return other("bundle.go", `= "all"`, `= "any"`) })
)

// other builds the programs with a line of a file of hubclient replaced.
func other(file, line, replacement string) (dir string, err error) {
	if dir = os.Getenv("FLOWDEDUP_OTHER"); dir != "" {
		return dir, nil
	}
	all, err := programs()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(all, "other-"+file)
	name, err := filepath.Abs("../hubclient/" + file)
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(name)
	if err == nil && !strings.Contains(string(text), line) {
		err = fmt.Errorf("no %q in %s", line, file)
	}
	if err != nil {
		return "", err
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {name: filepath.Join(dir, file)}})
	for name, content := range map[string]string{file: strings.Replace(string(text), line, replacement, 1), "overlay.json": string(overlay)} {
		if err == nil {
			err = os.MkdirAll(dir, 0o700)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600)
		}
	}
	if err != nil {
		return "", err
	}
	return dir, build(dir, "-overlay", filepath.Join(dir, "overlay.json"))
}

// of runs f with the programs of another folder.
func (l *lab) of(programs string, f func()) {
	l.t.Helper()
	before := l.programs
	l.programs = programs
	defer func() { l.programs = before }()
	f()
}

// TestVersions has hub and sensors of two versions, in both orders of change. A sensor that starts
// beside a hub of another version ends, and says so. Sensors that run pass all packets, counted. Once
// all are of one version, each packet is kept once.
func TestVersions(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the programs again")
	}
	older, err := otherMessages()
	if err != nil {
		t.Fatal(err)
	}
	l := newLab(t, "--window", wide)
	for _, site := range []string{"a", "d"} {
		l.sensor(site, "--verdict-wait=1s")
	}
	rounds := []round{l.checked()}
	for _, stop := range []func(){l.hub.kill, func() { l.hub.stop() }} {
		stop()
		l.of(older, l.startHub)
		l.send(3000, 1000)
		l.hub.stop()
		l.startHub()
		rounds = append(rounds, l.checked())
	}
	l.of(older, func() { // the sensors first
		p := l.start(l.one, "flowdedup", "dedup", "../../testdata/pcaps/router-plain.pcapng", "--hub", l.token("b"), "--json", "-w", l.output("b"))
		<-p.ended
		var s summary
		if err := json.Unmarshal(p.stdout.Bytes(), &s); p.cmd.ProcessState.ExitCode() != 1 && (err != nil || s.PacketsOut+s.HubCopies > s.PacketsIn) {
			t.Errorf("%v, %+v: %s", err, s, p.stderr.String())
		}
	})
	rounds = append(rounds, l.checked())
	counts, unchecked := l.counts("a", "d")
	once(t, counts, rounds...)
	t.Log(unchecked, "unchecked")
}

// TestBundleVersions has a hub and sensors of which some know no bundles, or other ones. The hub checks
// all packets.
func TestBundleVersions(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the programs again")
	}
	older, err := otherBundles()
	if err != nil {
		t.Fatal(err)
	}
	l := newLab(t, "--window", wide)
	l.sensor("a", "--verdict-wait=1s")
	l.of(older, func() { l.sensor("d", "--verdict-wait=1s") })
	rounds := []round{l.checked()}
	l.hub.stop()
	l.of(older, l.startHub)
	rounds = append(rounds, l.checked())
	l.hub.stop()
	l.startHub()
	rounds = append(rounds, l.checked())
	counts, unchecked := l.counts("a", "d")
	once(t, counts, rounds...)
	t.Log(unchecked, "unchecked")
}

// TestTreeVersions has hubs of two versions in a tree, in both orders of change. No packet is lost,
// and copies too many were counted as unchecked. Once all are of one version, each is kept once.
func TestTreeVersions(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the programs again")
	}
	older, err := otherTrees()
	if err != nil {
		t.Fatal(err)
	}
	l := newLab(t, "--window", wide, "--slices", "2")
	all := l.regions("--slices", "4", "--parent-wait", "200ms")
	rounds := []round{l.checked()}
	restartRoot := func() { l.hub.stop(); l.startHub() }
	tryRegion := func(i int) { // it may end at once, beside a root of another version
		r := &all[i]
		r.process.stop()
		r.process = l.start(r.at, "flowdedup-hub", "--state", l.folder(*r), "--http", "none")
		wait.Until(t, "a region", func() bool {
			select {
			case <-r.process.ended:
				return true
			default:
				return strings.Contains(r.process.stderr.String(), "sensors connect")
			}
		})
	}
	startRegion := func(i int) {
		select {
		case <-all[i].process.ended:
		default:
			all[i].process.stop()
		}
		all[i].process = l.start(all[i].at, "flowdedup-hub", "--state", l.folder(all[i]), "--http", "none")
		all[i].process.wait("sensors connect")
	}
	for name, change := range map[string]func(){
		"root first":    func() { restartRoot(); l.send(2000, 1000); tryRegion(0); l.send(2000, 1000); tryRegion(1) },
		"regions first": func() { tryRegion(0); l.send(2000, 1000); tryRegion(1); l.send(2000, 1000); restartRoot() },
	} {
		l.of(older, change)
		l.send(2000, 1000)
		restartRoot()
		startRegion(0)
		l.send(1000, 1000)
		startRegion(1)
		rounds = append(rounds, l.checked())
		t.Log(name)
	}
	counts, unchecked := l.counts("a", "b", "c", "d")
	once(t, counts, rounds...)
	t.Log(unchecked, "unchecked")
}
