package workload

import (
	"bytes"
	"encoding/csv"
	"strconv"
	"testing"
)

// TestCopies holds the list against the packets: what it names are two sightings of
// one datagram, a copy within the window and a repeat behind it, and it names as
// many of each kind as there are.
func TestCopies(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"default":             func(*Config) {},
		"many copies, pcapng": func(c *Config) { c.Duplicates, c.Repeats, c.Format = 0.6, 0.2, PcapNG },
	} {
		t.Run(name, func(t *testing.T) {
			c := small(change)
			var list bytes.Buffer
			c.Copies = &list
			file, truth := generate(t, c)
			packets := readPcapNG
			if c.Format == Pcap {
				packets = readPcap
			}
			counts := checkCopies(t, &list, packets(t, file), c)
			for kind := Repeat; kind < kinds; kind++ {
				if name := kind.String(); counts[name] != truth.Kinds[name] {
					t.Errorf("%d of kind %s, want %d", counts[name], name, truth.Kinds[name])
				}
			}
		})
	}
}

// checkCopies checks each line and counts their kinds.
func checkCopies(t *testing.T, list *bytes.Buffer, all []stored, c Config) map[string]int64 {
	t.Helper()
	lines, err := csv.NewReader(list).ReadAll()
	if err != nil || len(lines[0]) != 3 {
		t.Fatalf("%d lines (%v)", len(lines), err)
	}
	counts, last := map[string]int64{}, -1
	for _, line := range lines[1:] {
		number, _ := strconv.Atoi(line[0])
		original, _ := strconv.Atoi(line[1])
		if number <= last || original >= number {
			t.Fatalf("packet %d of %d follows packet %d", number, original, last)
		}
		last = number
		counts[line[2]]++
		again, first := all[number], all[original]
		if decode(t, again.frame).identity != decode(t, first.frame).identity {
			t.Fatalf("packet %d is not packet %d again", number, original)
		}
		if later := again.time - first.time; (later <= int64(c.Window)) != (line[2] != "repeat") {
			t.Fatalf("packet %d, a %s, comes %d ns after its original", number, line[2], later)
		}
	}
	return counts
}
