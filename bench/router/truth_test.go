// SPDX-License-Identifier: Apache-2.0

package router_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"
)

const capturesDir = "../../testdata/pcaps"

// truth is the lab's answer for a capture: the records, numbered from 0, that show a
// packet which an earlier record showed.
type truth struct {
	Comment    string         `json:"comment"`
	Files      []string       `json:"files"`
	Identity   string         `json:"identity"`
	Ignore     []string       `json:"ignore"`
	WindowNS   int64          `json:"window_ns"`
	Across     bool           `json:"across"`
	Packets    int            `json:"packets"`
	Duplicates int            `json:"duplicates"`
	Kinds      map[string]int `json:"kinds"`
	Backwards  int64          `json:"most_backwards_ns"`
	Removed    []int          `json:"removed"`
	// For a part of the captures: the records that show each packet, and the
	// conversations.
	Sightings     [][]int        `json:"sightings"`
	Conversations []conversation `json:"conversations"`
}

// inner reports whether packets inside tunnels are compared, without checksums that
// network cards fill in.
func (want *truth) inner() bool { return want.Identity == "inner" }

func readTruth(t *testing.T, path string) truth {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var want truth
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return want
}

// readAll reads the files of a capture as one. It merges them by time, and equal times in
// the order of the files.
func readAll(t *testing.T, dir string, want truth) []sighting {
	t.Helper()
	var all []sighting
	files := want.Files
	for point, name := range files {
		all = append(all, readCapture(t, filepath.Join(dir, name), point, want.inner())...)
	}
	if len(files) > 1 {
		slices.SortStableFunc(all, func(a, b sighting) int { return cmp.Compare(a.time, b.time) })
	}
	return all
}

// TestTruth finds the copies of every capture by comparing datagrams as gopacket decodes
// them, and expects the lab's answer.
func TestTruth(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(capturesDir, "*.truth.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no truth files in %s (%v)", capturesDir, err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			checkTruth(t, capturesDir, readTruth(t, path))
		})
	}
}

func checkTruth(t *testing.T, dir string, want truth) {
	t.Helper()
	all := readAll(t, dir, want)
	if len(all) != want.Packets {
		t.Errorf("%d records, want %d", len(all), want.Packets)
	}
	if len(want.Removed) != want.Duplicates {
		t.Errorf("%d removed records listed, want %d", len(want.Removed), want.Duplicates)
	}
	known := want.Identity == "l3" && want.Ignore == nil || want.inner() && slices.Equal(want.Ignore, []string{"l4-checksum"})
	if !known || want.WindowNS != int64(time.Millisecond) {
		t.Fatalf("identity %s without %s within %d ns is unknown to this test", want.Identity, want.Ignore, want.WindowNS)
	}
	if got := mostBackwards(all); got != want.Backwards {
		t.Errorf("a record lies %d ns behind an earlier one, want %d", got, want.Backwards)
	}
	removed, kinds := findCopies(all, want)
	if !slices.Equal(removed, want.Removed) {
		t.Errorf("found %d copies, not those %d of the truth file", len(removed), len(want.Removed))
	}
	for kind, count := range want.Kinds {
		if kinds[kind] != count {
			t.Errorf("%d copies of kind %s, want %d", kinds[kind], kind, count)
		}
	}
	if want.Sightings != nil {
		checkSightings(t, all, want)
	}
}

// checkSightings checks that the sightings hold every record once, that all but the first
// of each packet are removed, and that the packets belong to the conversations.
func checkSightings(t *testing.T, all []sighting, want truth) {
	t.Helper()
	seen := make([]bool, len(all))
	var removed []int
	packets := map[[3]string]int{}
	for _, packet := range want.Sightings {
		for _, number := range packet {
			if seen[number] || all[number].identity != all[packet[0]].identity {
				t.Fatalf("record %d of packet %d", number, packet)
			}
			seen[number] = true
		}
		removed = append(removed, packet[1:]...)
		if ends := all[packet[0]].ends; ends != [3]string{} {
			packets[ends]++
		}
	}
	slices.Sort(removed)
	if slices.Contains(seen, false) || !slices.Equal(removed, want.Removed) {
		t.Error("the sightings are not those of all records")
	}
	listed := map[[3]string]int{}
	for _, c := range want.Conversations {
		listed[c.ends()] = c.Packets
	}
	if !maps.Equal(packets, listed) {
		t.Errorf("conversations %v, want %v", packets, listed)
	}
}

// conversation is a conversation of TCP or UDP, both directions together.
type conversation struct {
	Protocol int      `json:"protocol"`
	Ends     [][2]any `json:"ends"` // address and port
	Packets  int      `json:"packets"`
}

// ends returns the conversation as a sighting has it.
func (c conversation) ends() [3]string {
	end := func(i int) string { return fmt.Sprintf("%v %v", c.Ends[i][0], c.Ends[i][1]) }
	return [3]string{fmt.Sprint(c.Protocol), min(end(0), end(1)), max(end(0), end(1))}
}

// findCopies returns the records with an equal kept datagram within the
// window, and how many there are of each kind.
func findCopies(all []sighting, want truth) (removed []int, kinds map[string]int) {
	kept := make(map[string][]sighting)
	kinds = make(map[string]int)
	for number, one := range all {
		twin := slices.IndexFunc(kept[one.identity], func(k sighting) bool {
			near := max(one.time-k.time, k.time-one.time) <= want.WindowNS
			return near && (!want.Across || k.point != one.point)
		})
		if twin < 0 {
			kept[one.identity] = append(kept[one.identity], one)
			continue
		}
		removed = append(removed, number)
		kinds[kindOf(one, kept[one.identity][twin])]++
	}
	return removed, kinds
}

// kindOf returns the difference of a copy from its kept twin.
func kindOf(one, twin sighting) string {
	switch {
	case one.hops == twin.hops+1 || one.hops+1 == twin.hops:
		return "routed"
	case one.hops == twin.hops && one.tags != twin.tags:
		return "vlan"
	case one.frame == twin.frame:
		return "loopback"
	}
	return "unknown"
}

func mostBackwards(all []sighting) int64 {
	var latest, worst int64
	for _, one := range all {
		latest = max(latest, one.time)
		worst = max(worst, latest-one.time)
	}
	return worst
}

// TestRebuild makes all captures again and checks them like the stored ones. It takes
// minutes, creates network namespaces and may install packages, so it only runs on
// request.
func TestRebuild(t *testing.T) {
	if os.Getenv("FLOWDEDUP_REBUILD") != "1" {
		t.Skip("set FLOWDEDUP_REBUILD=1 to rebuild the captures")
	}
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("network namespaces need root on Linux")
	}
	dir := t.TempDir()
	rebuild := exec.Command("./rebuild.sh", dir)
	rebuild.Stdout, rebuild.Stderr = os.Stdout, os.Stderr
	if err := rebuild.Run(); err != nil {
		t.Fatal(err)
	}
	stored, err := filepath.Glob(filepath.Join(capturesDir, "*.truth.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stored {
		name := filepath.Base(path)
		t.Run(name, func(t *testing.T) {
			checkTruth(t, dir, readTruth(t, filepath.Join(dir, name)))
		})
	}
}
