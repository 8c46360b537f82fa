// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// filmed makes a small capture of a kind in memory, and writes it with its list.
func filmed(t *testing.T, name string) (*scene, *truth, capture) {
	t.Helper()
	k := kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })]
	c, err := k.make(t.TempDir(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	known, err := newTruth(c.file, c.list)
	if err != nil {
		t.Fatal(err)
	}
	s := newScene(seed)
	k.film(s, 500)
	s.list()
	return s, known, c
}

// clean leaves the first record of each packet.
func (s *scene) clean() {
	seen := map[int]bool{}
	s.records = slices.DeleteFunc(s.records, func(r record) bool {
		again := seen[r.packet]
		seen[r.packet] = true
		return again
	})
}

// judged writes the remaining records and judges them.
func (s *scene) judged(t *testing.T, known *truth) verdict {
	t.Helper()
	name := filepath.Join(t.TempDir(), "out.pcap")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := s.write(file, 1); err != nil {
		t.Fatal(err)
	}
	v, err := known.judge(name)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestMutants finds in a perfect output each fault that is put into it.
func TestMutants(t *testing.T) {
	original, known, _ := filmed(t, "stay")
	original.clean()
	stay := slices.IndexFunc(original.records, func(r record) bool { return original.packets[r.packet].stays != "" })
	plain := slices.IndexFunc(original.records, func(r record) bool { return original.packets[r.packet].stays == "" })
	if stay < 0 || plain < 0 || known.stay == 0 {
		t.Fatal("the capture lacks a kind of packets")
	}
	all, _, _ := filmed(t, "stay")
	copied := slices.IndexFunc(all.records, func(r record) bool {
		return all.packets[r.packet].first >= 0 && r.packet == original.records[plain].packet
	})
	second := all.records[copied+1+slices.IndexFunc(all.records[copied+1:], func(r record) bool { return r.packet == original.records[plain].packet })]
	for name, mutant := range map[string]struct {
		change func(*scene)
		want   func(*verdict)
	}{
		"none":            {func(*scene) {}, func(*verdict) {}},
		"a lost packet":   {func(s *scene) { s.records = slices.Delete(s.records, plain, plain+1) }, func(v *verdict) { v.Records--; v.Lost++ }},
		"a lost repeat":   {func(s *scene) { s.records = slices.Delete(s.records, stay, stay+1) }, func(v *verdict) { v.Records--; v.Lost++; v.LostStay++ }},
		"a copy left":     {func(s *scene) { s.records = append(s.records, second) }, func(v *verdict) { v.Records++; v.Copies++; v.Backwards++ }},
		"a record twice":  {func(s *scene) { s.records = slices.Insert(s.records, plain, s.records[plain]) }, func(v *verdict) { v.Records++; v.Unknown++ }},
		"changed bytes":   {func(s *scene) { s.records[plain].frame = flipped(s.records[plain].frame, 0) }, func(v *verdict) { v.Changed++ }},
		"changed payload": {func(s *scene) { s.records[plain].frame = flipped(s.records[plain].frame, 40) }, func(v *verdict) { v.Changed++; v.WrongSums++ }},
		"wrong order":     {func(s *scene) { s.records[5], s.records[6] = s.records[6], s.records[5] }, func(v *verdict) { v.Backwards++ }},
		"a packet of its own": {func(s *scene) {
			s.records[len(s.records)-1].time += 5_000_000
			s.records[len(s.records)-1].frame[20] ^= 1
		}, func(v *verdict) { v.Unknown++; v.Lost++; v.LostStay += stayed(original, len(original.records)-1) }},
		"another clock": {func(s *scene) { s.records[plain].time += 1 << 40 }, func(v *verdict) {}},
	} {
		t.Run(name, func(t *testing.T) {
			s := *original
			s.records = slices.Clone(original.records)
			for i := range s.records {
				s.records[i].frame = slices.Clone(s.records[i].frame)
			}
			mutant.change(&s)
			got := s.judged(t, known)
			want := verdict{Records: known.packets, Talks: got.Talks, TwoSided: got.TwoSided, ByVLAN: got.ByVLAN}
			mutant.want(&want)
			if got != want {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

func stayed(s *scene, record int) int {
	if s.packets[s.records[record].packet].stays != "" {
		return 1
	}
	return 0
}

// flipped returns a frame with another byte.
func flipped(frame []byte, at int) []byte {
	frame = slices.Clone(frame)
	frame[at] ^= 0x80
	return frame
}

// TestClose finds frames without their tunnel among records of one microsecond.
func TestClose(t *testing.T) {
	j := trial{truth: &truth{records: []known{{at: 1001, frame: 1}, {at: 1002, packet: 1, frame: 2}, {at: 1003, packet: 2, frame: 3}},
		byTime: map[int64][]int{1: {0, 1, 2}}}, used: make([]bool, 3)}
	for _, c := range []struct {
		at     int64
		frame  uint64
		record int
		same   bool
	}{{1002, 9, 1, false}, {1003, 9, 2, false}, {1000, 3, 2, true}, {1000, 9, 0, false}, {5000, 9, -1, false}} {
		if record, same := j.find(c.at, c.frame); record != c.record || same != c.same {
			t.Errorf("%+v: record %d, %v", c, record, same)
		}
	}
}

// TestSides counts a conversation as one-sided without one direction, and by VLAN where the
// directions are in different ones.
func TestSides(t *testing.T) {
	s, known, _ := filmed(t, "span-vlans")
	whole := s.judged(t, known)
	if whole.Talks == 0 || whole.TwoSided != whole.Talks || whole.ByVLAN != whole.Talks {
		t.Fatalf("the capture itself: %+v", whole)
	}
	s.clean() // the first sightings of the directions are in different VLANs
	if v := s.judged(t, known); v.TwoSided != v.Talks || v.ByVLAN != 0 || v.Talks != whole.Talks {
		t.Errorf("first sightings: %+v", v)
	}
	s.records = slices.DeleteFunc(s.records, func(r record) bool { return r.frame[5] != routerLeft })
	if v := s.judged(t, known); v.TwoSided != 0 || v.ByVLAN != 0 {
		t.Errorf("one direction: %+v", v)
	}
}

// TestSums finds checksums that are left to the card where right ones were captured.
func TestSums(t *testing.T) {
	s, known, _ := filmed(t, "vxlan")
	if s.clean(); s.judged(t, known).WrongSums == 0 {
		t.Error("the senders' copies have right checksums")
	}
	s, known, _ = filmed(t, "vxlan")
	slices.Reverse(s.records)
	s.clean()
	if v := s.judged(t, known); v.WrongSums != 0 || v.Lost != 0 {
		t.Errorf("the receivers' copies: %+v", v)
	}
}

// TestDamage names the file.
func TestDamage(t *testing.T) {
	_, known, c := filmed(t, "router")
	whole, err := os.ReadFile(c.file)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"empty": nil, "text": []byte("no packets here"), "cut": whole[:len(whole)-3]} {
		output := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(output, content, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := known.judge(output); !errors.Is(err, errCapture) || !strings.Contains(err.Error(), output) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, content := range map[string]string{"no heading": "1,0,exact\n", "words": listHeading + "\none,0,exact\n", "late original": listHeading + "\n1,2,exact\n", "fields": listHeading + "\n1,0\n"} {
		list := filepath.Join(t.TempDir(), "list")
		if err := os.WriteFile(list, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := readList(list); !errors.Is(err, errList) || !strings.Contains(err.Error(), list+":") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := newTruth(c.file, []line{{1 << 20, 0, "exact"}}); !errors.Is(err, errList) {
		t.Errorf("a list of another capture: %v", err)
	}
}
