// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
)

// TestStateAndHub stops a sensor that keeps a state, and starts it again from that: its
// counts go on, and of all packets, before and after, each is kept once.
func TestStateAndHub(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 15 s")
	}
	l := newLab(t, "--window", wide)
	state := filepath.Join(l.dir, "state")
	l.sensor("a", patient, "--state", state)
	l.sensor("d", patient)
	l.send(2000, 1000)
	l.judged()
	first, before := l.stopSensor("a")
	if first.PacketsIn != 2000 || first.Unchecked != 0 {
		t.Errorf("before: %+v", first)
	}
	if err := os.Rename(l.output("a"), filepath.Join(l.dir, "first.pcapng")); err != nil {
		t.Fatal(err)
	}
	resumed := l.sensor("a", patient, "--state", state)
	resumed.wait("resumed")
	l.send(2000, 1000)
	l.judged()
	second := summary{}
	if err := json.Unmarshal([]byte(resumed.stop()), &second); err != nil {
		t.Fatal(err)
	}
	after := readNumbers(t, l.output("a"))
	if second.PacketsIn != 4000 || second.PacketsOut != len(before)+len(after) || second.HubCopies != 4000-second.PacketsOut {
		t.Errorf("%d and %d kept; %+v", len(before), len(after), second)
	}
	_, others := l.stopSensor("d")
	counts := make([]int, 4000)
	for _, numbers := range [][]int{before, after, others} {
		for _, n := range numbers {
			counts[n]++
		}
	}
	for n, c := range counts {
		if c != 1 {
			t.Fatalf("packet %d is kept %d times", n, c)
		}
	}
}

// TestStoppedOwner stops one of two hubs for longer than its lease, until the other has
// its slices, and lets it go on: no packet is lost, and afterwards each is kept once. The
// stopped hub's answers after it wakes up must not count.
func TestStoppedOwner(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 30 s")
	}
	l := newLab(t, "--window", wide)
	line := strings.TrimSpace(l.hubNet.run(filepath.Join(l.programs, "flowdedup-hub"), "hub-token", "--state", l.hubDir))
	other := l.start(l.hubNet, "flowdedup-hub", "--state", l.dir+"/second", "--join", line, "--name", "second", "--http", "none")
	other.wait("slices")
	l.shared(2)
	for _, site := range []string{"a", "d"} {
		l.sensor(site, "--verdict-wait=1s")
	}
	before := l.checked()
	signal := func(s syscall.Signal) {
		if err := other.cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	signal(syscall.SIGSTOP)
	l.send(6000, 1000)
	l.shared(1)
	signal(syscall.SIGCONT)
	l.send(2000, 1000) // it wakes up, and takes a share again
	l.shared(2)
	after := l.checked() // each slice is found again
	counts, unchecked := l.counts("a", "d")
	once(t, counts, before, after)
	t.Log(unchecked, "unchecked")
}

// TestFullDisk fills the disk of a hub, with journals and without, while packets come, and while the hub
// stops and starts. Packets pass, the hub says why, and once there is room again each is kept once.
func TestFullDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	for _, journal := range []string{"--journal=true", "--journal=false"} {
		t.Run(journal, func(t *testing.T) {
			disk := t.TempDir()
			if err := syscall.Mount("none", disk, "tmpfs", 0, "size=12m"); err != nil {
				t.Skip("no file system: ", err)
			}
			t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
			l := newLabAt(t, t.TempDir(), filepath.Join(disk, "hub"), "--window", wide, journal, "--slices", "4", "--memory", "1MiB")
			for _, site := range []string{"a", "d"} {
				l.sensor(site, "--verdict-wait=1s")
			}
			rounds := []round{l.checked()}
			filler := filepath.Join(disk, "filler")
			full := func(during func()) {
				if err := fill(filler); err != nil {
					t.Fatal(err)
				}
				during()
				if err := os.Remove(filler); err != nil {
					t.Fatal(err)
				}
			}
			full(func() { l.send(10000, 1000) })
			if journal == "--journal=true" {
				l.hub.wait("opened its store again")
			}
			rounds = append(rounds, l.checked())
			full(func() {
				l.hub.stop()
				l.beginHub()
				l.send(5000, 1000)
			})
			if wait.For(func() bool { return l.hubEnded() || strings.Contains(l.hub.stderr.String(), "sensors connect") }); l.hubEnded() {
				t.Log(l.hub.stderr.String())
				l.startHub()
			}
			rounds = append(rounds, l.checked())
			counts, unchecked := l.counts("a", "d")
			once(t, counts, rounds...)
			t.Log(unchecked, "unchecked")
		})
	}
}

// fill writes a file until there is no room.
func fill(name string) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	for block := make([]byte, 4096); ; {
		if _, err := file.Write(block); err != nil {
			return file.Close()
		}
	}
}
