// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"
)

func small(change func(*Config)) Config {
	c := Default()
	c.Packets = 20_000
	c.Flows = 3000
	change(&c)
	return c
}

func generate(t *testing.T, c Config) ([]byte, Truth) {
	t.Helper()
	var file bytes.Buffer
	truth, err := Generate(&file, c)
	if err != nil {
		t.Fatal(err)
	}
	return file.Bytes(), truth
}

// TestSameBytes pins the output: a benchmark's input must not change unseen.
func TestSameBytes(t *testing.T) {
	tests := []struct {
		name, hash string
		change     func(*Config)
	}{
		{"pcap", "e9672404b8894fed", func(*Config) {}},
		{"pcapng", "825ecde1f6a6f255", func(c *Config) { c.Format = PcapNG }},
		{"bimodal", "b3d821fb7f50d05a", func(c *Config) { c.Size = Bimodal }},
		{"seed 2, 64 bytes", "7396cf049c577d65", func(c *Config) { c.Seed, c.Size = 2, 64 }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			first, truth := generate(t, small(test.change))
			second, again := generate(t, small(test.change))
			if !bytes.Equal(first, second) || !reflect.DeepEqual(truth, again) {
				t.Fatal("two runs differ")
			}
			hash := sha256.Sum256(first)
			if got := hex.EncodeToString(hash[:8]); got != test.hash {
				t.Errorf("hash %s, want %s", got, test.hash)
			}
		})
	}
}

// TestFormatsAgree expects the same packets in pcap and pcapng.
func TestFormatsAgree(t *testing.T) {
	pcap, pcapTruth := generate(t, small(func(*Config) {}))
	ng, ngTruth := generate(t, small(func(c *Config) { c.Format = PcapNG }))
	if !reflect.DeepEqual(pcapTruth, ngTruth) {
		t.Error("truths differ")
	}
	same := func(a, b stored) bool { return a.time == b.time && bytes.Equal(a.frame, b.frame) }
	if !slices.EqualFunc(readPcap(t, pcap), readPcapNG(t, ng), same) {
		t.Error("packets differ")
	}
}

func TestValidate(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Config)
	}{
		{"no packets", func(c *Config) { c.Packets = 0 }},
		{"unknown mixture", func(c *Config) { c.Size = Bimodal - 1 }},
		{"short frames", func(c *Config) { c.Size = 59 }},
		{"long frames", func(c *Config) { c.Size = 1515 }},
		{"negative copies", func(c *Config) { c.Duplicates = -0.1 }},
		{"nearly all copies", func(c *Config) { c.Duplicates, c.Repeats = 0.5, 0.5 }},
		{"more than all IPv6", func(c *Config) { c.IPv6 = 1.1 }},
		{"short window", func(c *Config) { c.Window = time.Microsecond }},
		{"no time", func(c *Config) { c.Duration = 0 }},
		{"too fast", func(c *Config) { c.Duration = time.Microsecond }},
		{"steep", func(c *Config) { c.Zipf = 5 }},
		{"no flows", func(c *Config) { c.Flows = 0 }},
		{"too many flows", func(c *Config) { c.Flows = maxFlows + 1 }},
		{"unknown format", func(c *Config) { c.Format = 7 }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Generate(io.Discard, small(test.change))
			if !errors.Is(err, ErrConfig) {
				t.Errorf("got %v, want an error that wraps ErrConfig", err)
			}
		})
	}
}

var errFull = errors.New("full")

// full is a writer that takes the given number of bytes and then fails.
type full int

func (f *full) Write(b []byte) (int, error) {
	if *f -= full(len(b)); *f < 0 {
		return 0, errFull
	}
	return len(b), nil
}

// TestMeanSizes expects the averages that the mixtures have, within five standard
// deviations of a mean of frames of 60 to 1514 bytes.
func TestMeanSizes(t *testing.T) {
	for size, want := range map[int]float64{IMIX: 355, Bimodal: 798} {
		_, truth := generate(t, small(func(c *Config) { c.Size, c.IPv6 = size, 0 }))
		n := float64(truth.Packets)
		untagged := float64(truth.Bytes - 4*truth.Kinds["vlan"])
		if mean := untagged / n; math.Abs(mean-want) > 5*727/math.Sqrt(n) {
			t.Errorf("mean size %.0f, want %.0f", mean, want)
		}
	}
}

func TestWriteError(t *testing.T) {
	for _, room := range []full{0, 1, 3 << 20} {
		if _, err := Generate(&room, small(func(*Config) {})); !errors.Is(err, errFull) {
			t.Errorf("got %v, want an error that wraps the writer's", err)
		}
	}
	var room full
	c := small(func(c *Config) { c.Copies = &room })
	if _, err := Generate(io.Discard, c); !errors.Is(err, errFull) {
		t.Errorf("got %v, want an error that wraps that of the list", err)
	}
}

// TestShares expects the requested shares, within five standard deviations of a binomial
// count (chance below 1e-6), at a fixed seed.
func TestShares(t *testing.T) {
	for _, share := range []float64{0, 0.1, 0.6} {
		_, truth := generate(t, small(func(c *Config) { c.Duplicates, c.Duration = share, time.Minute }))
		n := float64(truth.Packets)
		want, slack := n*share, 5*n*0.005
		if got := float64(truth.Duplicates); got < want-slack || got > want+slack {
			t.Errorf("%.0f copies of %.0f packets, want a share of %.2f", got, n, share)
		}
	}
}

func BenchmarkGenerate(b *testing.B) {
	for _, size := range []struct {
		name  string
		bytes int
	}{{"64", 64}, {"imix", IMIX}, {"bimodal", Bimodal}} {
		b.Run("size="+size.name, func(b *testing.B) {
			c := Default()
			c.Size = size.bytes
			var total int64
			for b.Loop() {
				truth, err := Generate(io.Discard, c)
				if err != nil {
					b.Fatal(err)
				}
				total = truth.Bytes
			}
			b.SetBytes(total)
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(c.Packets), "ns/packet")
		})
	}
}

// TestCopies compares the list with the packets. Each pair in the list is one datagram
// seen twice, a copy within the window or a repeat after it, and the list is complete for
// each kind.
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
			for kind := repeat; kind < kinds; kind++ {
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

func TestPending(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var q pending
	var want []delayed
	for i := range 2000 {
		time := random.Int64N(300)
		q.add(time, packet{serial: uint64(i)})
		want = append(want, delayed{time: time, order: uint64(i), packet: packet{serial: uint64(i)}})
	}
	slices.SortStableFunc(want, func(a, b delayed) int { return cmp.Compare(a.time, b.time) })
	for i, expected := range want {
		if q.due(expected.time-1) || !q.due(expected.time) {
			t.Fatalf("frame %d is not due at its time", i)
		}
		if got := q.take(); got != expected {
			t.Fatalf("frame %d: got %+v, want %+v", i, got, expected)
		}
	}
	if q.due(math.MaxInt64) {
		t.Error("an empty heap has a frame due")
	}
}

// TestFlowsDiffer expects a different five-tuple for every flow number.
func TestFlowsDiffer(t *testing.T) {
	for _, flows := range []int{1, 3, 1000, 200_000} {
		c := Default()
		c.Flows = flows
		p := newPopulation(&c)
		seen := make(map[flow]bool, flows)
		for number := range flows {
			f := p.flow(uint32(number))
			if seen[f] {
				t.Fatalf("%d flows: number %d has been seen", flows, number)
			}
			seen[f] = true
		}
	}
}
