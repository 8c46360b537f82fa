package rotate

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// rotated is what a Rotation left in a folder of its own.
type rotated struct {
	names []string // in the order of names, or in which they were written
	files [][]byte
	stats Stats
}

func readRotated(t *testing.T, dir string) (r rotated) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		r.names, r.files = append(r.names, e.Name()), append(r.files, data)
	}
	return r
}

func newRotation(t *testing.T, name string, opt Options) *Writer {
	t.Helper()
	opt.Output.NoSync = true
	r, err := New(name, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// rotate writes what drop leaves of src, and returns the files as they were written.
func rotate(t *testing.T, src capture.Source, opt Options, drop func() bool) rotated {
	t.Helper()
	dir := t.TempDir()
	var names []string
	opt.Completed = func(name string, _ uint64) { names = append(names, name) }
	r := newRotation(t, filepath.Join(dir, "out.cap"), opt)
	_ = capturetest.Each(t, src, func(b *capture.Batch) { // up to damage
		if err := r.Write(b, bitmap(b, drop)); err != nil {
			t.Fatal(err)
		}
	})
	if err := r.Commit(); err != nil {
		t.Fatal(err)
	}
	out := rotated{stats: r.Stats()}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out.names, out.files = append(out.names, filepath.Base(name)), append(out.files, data)
	}
	if all := readRotated(t, dir); len(all.names) != len(out.names) {
		t.Errorf("%q are there, and %q were written", all.names, out.names)
	}
	return out
}

// records returns the bytes of every packet of a capture, as stored.
func records(t *testing.T, data []byte) (all []string) {
	t.Helper()
	if err := capturetest.Each(t, chunked(t, data, 2048), func(b *capture.Batch) {
		for i := range b.Frames {
			all = append(all, string(b.Record(i)))
		}
	}); err != nil {
		t.Fatalf("reading what was written: %v", err)
	}
	return all
}

// chunked opens a capture in batches of about so many bytes.
func chunked(tb testing.TB, data []byte, chunk int) capture.Source {
	tb.Helper()
	src, err := pcapfile.NewReader(bytes.NewReader(data), "in", pcapfile.Options{ChunkSize: chunk})
	if err != nil {
		tb.Fatal(err)
	}
	return src
}

// oneFile writes what drop leaves of src as one file.
func oneFile(t *testing.T, src capture.Source, merged bool, drop func() bool) []byte {
	t.Helper()
	var out bytes.Buffer
	w := pcapfile.NewWriter(&out, pcapfile.WriterOptions{Merged: merged})
	_ = capturetest.Each(t, src, func(b *capture.Batch) { // up to damage
		if err := w.Write(b, bitmap(b, drop)); err != nil {
			t.Fatal(err)
		}
	})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// bitmap asks drop about each frame.
func bitmap(b *capture.Batch, drop func() bool) []uint64 {
	words := make([]uint64, (len(b.Frames)+63)/64)
	for i := range b.Frames {
		if drop() {
			words[i/64] |= 1 << (i % 64)
		}
	}
	return words
}

// rotationInputs are streams of every kind, in batches of any size.
var rotationInputs = func() map[string]func(t *testing.T, chunk int) (src capture.Source, merged bool) {
	le, be := capturetest.PcapNG(binary.LittleEndian, 60).Bytes(), capturetest.PcapNG(binary.BigEndian, 60).Bytes()
	inputs := map[string]func(t *testing.T, chunk int) (capture.Source, bool){
		"pcapng":            func(t *testing.T, c int) (capture.Source, bool) { return chunked(t, le, c), false },
		"big-endian pcapng": func(t *testing.T, c int) (capture.Source, bool) { return chunked(t, be, c), false },
		"joined pcapng": func(t *testing.T, c int) (capture.Source, bool) {
			return pcapfile.Concat([]capture.Source{chunked(t, be, c), chunked(t, le, c)}), false
		},
		"joined pcap and pcapng": func(t *testing.T, c int) (capture.Source, bool) {
			return pcapfile.Concat([]capture.Source{chunked(t, capturetest.Pcap(2, 90, 1, 0).Bytes(), c), chunked(t, le, c)}), false
		},
		"merged pcap": func(t *testing.T, c int) (capture.Source, bool) {
			return pcapfile.Merge([]capture.Source{chunked(t, capturetest.Pcap(3, 90, 1, 0).Bytes(), c), chunked(t, capturetest.Pcap(0, 70, 1, 99).Bytes(), c)}, nil), true
		},
		"merged pcapng": func(t *testing.T, c int) (capture.Source, bool) {
			return pcapfile.Merge([]capture.Source{chunked(t, le, c), chunked(t, be, c), chunked(t, capturetest.Pcap(4, 70, 101, 0).Bytes(), c)}, nil), true
		},
	}
	for i, k := range capturetest.PcapKinds {
		inputs[k.Name] = func(t *testing.T, c int) (capture.Source, bool) {
			return chunked(t, capturetest.Pcap(i, 130, 1, 65535).Bytes(), c), false
		}
	}
	return inputs
}()

// TestRotationHoldsAll compares the packets of all files with those of one file that
// is not rotated, byte for byte.
func TestRotationHoldsAll(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(rotationInputs)) {
		open := rotationInputs[name]
		t.Run(name, func(t *testing.T) {
			for _, p := range capturetest.Patterns[2:4] {
				src, merged := open(t, 2048)
				rnd, n := rand.New(rand.NewPCG(1, 2)), 0
				want := records(t, oneFile(t, src, merged, func() bool { n++; return p.Drop(rnd, n-1) }))
				for _, opt := range []Options{
					{}, {Size: 5000}, {Size: 80_000}, {Every: 7 * time.Second}, {Size: 3000, Every: 20 * time.Second},
				} {
					opt.Merged = merged
					checkRotation(t, fmt.Sprintf("%s, %d bytes, %v", p.Name, opt.Size, opt.Every), func(chunk int) rotated {
						src, _ := open(t, chunk)
						rnd, n := rand.New(rand.NewPCG(1, 2)), 0
						return rotate(t, src, opt, func() bool { n++; return p.Drop(rnd, n-1) })
					}, opt, want)
				}
			}
		})
	}
}

func checkRotation(t *testing.T, what string, write func(chunk int) rotated, opt Options, want []string) {
	t.Helper()
	got := write(2048)
	var all []string
	for i, data := range got.files {
		packets := records(t, data)
		all = append(all, packets...)
		headers := len(data) - len(strings.Join(packets, ""))
		if opt.Size > 0 && len(packets) > 1 && len(data) > max(int(opt.Size), 2*headers) {
			t.Errorf("%s: %s has %d bytes, %d of them in %d packets", what, got.names[i], len(data), headers, len(packets))
		}
	}
	if !slices.Equal(all, want) {
		t.Errorf("%s: %d packets in %d files are not the %d of one", what, len(all), len(got.files), len(want))
	}
	if s := got.stats; s.Files != uint64(len(got.files)) || s.Packets != uint64(len(want)) || s.Lost != 0 ||
		s.Bytes != uint64(len(bytes.Join(got.files, nil))) {
		t.Errorf("%s: %+v for %d files", what, s, len(got.files))
	}
	if other := write(40_000); !slices.Equal(other.names, got.names) || !slices.EqualFunc(other.files, got.files, bytes.Equal) {
		t.Errorf("%s: other files from other batches: %q, %q", what, other.names, got.names)
	}
}

// TestRotationOfOne has one packet or block a file.
func TestRotationOfOne(t *testing.T) {
	for _, name := range []string{"big-endian pcapng", "merged pcapng", "merged pcap"} {
		src, merged := rotationInputs[name](t, 2048)
		want := records(t, oneFile(t, src, merged, func() bool { return false }))
		checkRotation(t, name, func(chunk int) rotated {
			src, _ := rotationInputs[name](t, chunk)
			return rotate(t, src, Options{Size: 1, Merged: merged}, func() bool { return false })
		}, Options{Size: 1}, want)
	}
}

// TestRotationInterval cuts where the packets' clock says, which false times do not stop.
func TestRotationInterval(t *testing.T) {
	const hour = 1_700_000_000 / 3600 * 3600
	for _, tt := range []struct {
		name  string
		times []int64 // seconds from the hour; noStamp is a packet without a time
		want  []string
	}{
		{"one", []int64{5, 6, 3599}, []string{"20231114T220005.000Z: 5 6 3599"}},
		{"next", []int64{3599, 3600, 3601, 7200}, []string{"20231114T225959.000Z: 3599", "20231114T230000.000Z: 3600 3601", "20231115T000000.000Z: 7200"}},
		{"hours without packets", []int64{1, 7300}, []string{"20231114T220001.000Z: 1", "20231115T000140.000Z: 7300"}},
		{"older", []int64{1, 3601, 2, 3602}, []string{"20231114T220001.000Z: 1", "20231114T230001.000Z: 3601 2 3602"}},
		{"older first", []int64{3600, 1, 3601}, []string{"20231114T230000.000Z: 3600 1 3601"}},
		{"untimed", []int64{noStamp, 1, noStamp, 3600, noStamp}, []string{"20231114T220001.000Z: none 1 none", "20231114T230000.000Z: 3600 none"}},
		{"only untimed", []int64{noStamp, noStamp}, []string{"00000000T000000.000Z: none none"}},
		{"a silence of months", []int64{1, month, month + 1}, []string{"20231114T220001.000Z: 1", "20231214T220000.000Z: 2592000 2592001"}},
		{"years ahead", []int64{1, years, 2, years + 1, 3600, 7200},
			[]string{"20231114T220001.000Z: 1 315360000 2 315360001", "20231114T230000.000Z: 3600", "20231115T000000.000Z: 7200"}},
		{"years ahead, and right", []int64{1, years, years + 1, years + 2, years + 3},
			[]string{"20231114T220001.000Z: 1 315360000 315360001", "20331111T220002.000Z: 315360002 315360003"}},
		{"a month ahead", []int64{1, month, 2, 3599, 3600, 3601, 7200},
			[]string{"20231114T220001.000Z: 1", "20231214T220000.000Z: 2592000 2 3599", "20231114T230000.000Z: 3600 3601", "20231115T000000.000Z: 7200"}},
		{"the first one years ahead", []int64{years, 1, 2, 3600, 7200},
			[]string{"20331111T220000.000Z: 315360000 1 2", "20231114T230000.000Z: 3600", "20231115T000000.000Z: 7200"}},
		{"years ahead, then months", []int64{years, month, 1, 2, 3600},
			[]string{"20331111T220000.000Z: 315360000 2592000 1 2", "20231114T230000.000Z: 3600"}},
		{"two clocks", []int64{month, 1, month + 1, 3600, month + 2, 7200, month + 3600},
			[]string{"20231214T220000.000Z: 2592000 1 2592001 3600 2592002 7200", "20231214T230000.000Z: 2595600"}},
		{"late by an interval", []int64{7200, 1, 3600, 3601, 7201}, []string{"20231115T000000.000Z: 7200 1 3600 3601 7201"}},
	} {
		g := &capturetest.Forge{Order: binary.LittleEndian}
		g.Section(encoding.UnknownLength)
		g.Iface(1, 0, g.Option(encoding.OptTSResol, []byte{0}), g.End())
		for _, at := range tt.times {
			if at == noStamp {
				g.Simple([]byte("x"))
			} else {
				g.Enhanced(0, uint64(hour+at), []byte("x"), 1)
			}
		}
		got := rotate(t, chunked(t, g.Bytes(), 2048), Options{Every: time.Hour}, func() bool { return false })
		var lines []string
		for i, data := range got.files {
			line := strings.TrimSuffix(strings.TrimPrefix(got.names[i], "out-"), ".cap") + ":"
			for _, p := range capturetest.PacketsOf(t, chunked(t, data, 2048)) {
				if p.Time == capture.NoTime {
					line += " none"
				} else {
					line += fmt.Sprintf(" %d", p.Time/1e9-hour)
				}
			}
			lines = append(lines, line)
		}
		if !slices.Equal(lines, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, lines, tt.want)
		}
	}
}

const (
	noStamp = -1
	month   = 30 * 24 * 3600
	years   = 10 * 365 * 24 * 3600
)

// TestRotationFalseTimes mixes false times of all kinds into a stream, which is cut at the
// same places whatever batches it comes in, and keeps on being cut.
func TestRotationFalseTimes(t *testing.T) {
	const start, n, every = 1_700_000_000, 3000, time.Minute
	rnd := rand.New(rand.NewPCG(4, 4))
	g := &capturetest.Forge{Order: binary.LittleEndian}
	g.Section(encoding.UnknownLength)
	g.Iface(1, 0, g.Option(encoding.OptTSResol, []byte{0}), g.End())
	for i := range n {
		at := uint64(start + i)
		switch rnd.IntN(50) {
		case 0:
			at += years + rnd.Uint64N(years)
		case 1:
			at = rnd.Uint64N(start)
		case 2:
			at = uint64(start + rnd.IntN(n))
		case 3:
			g.Simple([]byte("x"))
		}
		g.Enhanced(0, at, []byte("x"), 1)
	}
	for _, opt := range []Options{{Every: every}, {Every: every, Size: 2000}} {
		checkRotation(t, fmt.Sprint(opt.Size), func(chunk int) rotated {
			got := rotate(t, chunked(t, g.Bytes(), chunk), opt, func() bool { return false })
			if files := len(got.files); files < n/60 || opt.Size == 0 && files > 2*n/60 {
				t.Errorf("%d files", files)
			}
			return got
		}, opt, records(t, g.Bytes()))
	}
}

// TestRotationClock judges times by the clock that Tick tells, where it does.
func TestRotationClock(t *testing.T) {
	const s, m, h = int64(time.Second), int64(time.Minute), int64(time.Hour)
	type step struct {
		tick bool
		at   int64
		over bool
	}
	packet := func(at int64, over bool) step { return step{at: at, over: over} }
	tick := func(at int64, over bool) step { return step{tick: true, at: at, over: over} }
	for name, steps := range map[string][]step{
		"false":            {packet(s, false), tick(2*s, false), packet(3*h, false), packet(4*s, false), packet(h, true)},
		"one in a row":     {tick(0, false), packet(s, false), packet(3*h, false), packet(s, false), packet(3*h, false), packet(3*h, false), packet(h-1, false)},
		"three in a row":   {tick(0, false), packet(s, false), packet(3*h, false), packet(4*h, false), packet(3*h, true)},
		"silence":          {packet(s, false), tick(h-1, false), tick(h, true), tick(h+1, false), tick(2*h, true), packet(2*h+s, false)},
		"asleep":           {packet(s, false), tick(s, false), tick(5*h, false), packet(5*h, true), tick(6*h, true)},
		"ahead of clock":   {packet(30*h, false), tick(s, false), packet(31*h, true), tick(h, false), packet(32*h, true)},
		"behind the clock": {packet(s, false), tick(30*h, false), packet(h, true), tick(31*h, false), packet(2*h, true)},
		"the clock itself": {packet(30*h, false), tick(30*h, false), packet(s, false), tick(s, false), packet(h-1, false), packet(h, true), tick(2*h, true)},
		"a late straggler": {packet(s, false), tick(h, true), packet(h-1, false), packet(h, false)},
		"the end of time":  {packet(math.MaxInt64-1, false), packet(math.MaxInt64, false), packet(0, false), packet(h, true)},
		"its begin":        {packet(math.MinInt64+1, false), packet(math.MinInt64+2, false), packet(0, false), packet(0, false), packet(0, true)},
		"no time":          {packet(capture.NoTime, false), packet(s, false), packet(capture.NoTime, false), packet(h, true)},
		"small intervals":  {packet(0, false), tick(0, false), packet(h+m-1, true)},
	} {
		c := newRotationClock(time.Hour)
		for i, step := range steps {
			judge := c.over
			if step.tick {
				judge = c.tick
			}
			if got := judge(step.at); got != step.over {
				t.Errorf("%s: step %d, %+v: %v", name, i, step, got)
			}
		}
	}
	c := newRotationClock(time.Second)
	c.over(0)
	c.tick(0)
	if !c.over(m-1) || c.over(3*m) {
		t.Error("a clock is not a minute off")
	}
}

// TestRotationTick ends files at the hour without a packet.
func TestRotationTick(t *testing.T) {
	dir := t.TempDir()
	r := newRotation(t, filepath.Join(dir, "out.pcap"), Options{Every: time.Hour})
	g := capturetest.Pcap(1, 3, 1, 0) // at 1_600_000_000, 12:26:40
	hour := time.Unix(1_600_000_000, 0).Truncate(time.Hour)
	tick := func(at time.Time, files int) {
		t.Helper()
		err := r.Tick(at)
		r.settle()
		if err := errors.Join(err, r.Err()); err != nil {
			t.Fatal(err)
		}
		if names, _ := filepath.Glob(filepath.Join(dir, "out*")); len(names) != files {
			t.Errorf("after the tick at %v: %q", at, names)
		}
	}
	tick(hour, 0)
	if err := capturetest.Each(t, chunked(t, g.Bytes(), 2048), func(b *capture.Batch) {
		if err := r.Write(b, nil); err != nil {
			t.Fatal(err)
		}
		tick(hour.Add(time.Hour-1), int(r.Stats().Files))
		tick(hour.Add(time.Hour), int(r.Stats().Files)+1)
		tick(hour.Add(3*time.Hour), int(r.Stats().Files))
	}); err != nil {
		t.Fatal(err)
	}
	if err := r.Commit(); err != nil {
		t.Fatal(err)
	}
	got := readRotated(t, dir)
	if len(got.files) == 0 || !strings.HasPrefix(got.names[0], "out-20200913T122640.") {
		t.Errorf("%q", got.names)
	}
}

// TestRotationRepeats has names and secrets in every file of their section, and other
// blocks once.
func TestRotationRepeats(t *testing.T) {
	for _, order := range []capturetest.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		g := capturetest.PcapNG(order, 40)
		got := rotate(t, chunked(t, g.Bytes(), 2048), Options{Size: 1500}, func() bool { return false })
		seen := map[uint32]int{}
		for i, data := range got.files {
			here := map[uint32]int{}
			if err := capturetest.Each(t, chunked(t, data, 2048), func(b *capture.Batch) {
				for _, k := range b.Blocks {
					here[k.Type]++
				}
			}); err != nil {
				t.Fatal(err)
			}
			if n := len(capturetest.PacketsOf(t, chunked(t, data, 2048))); n > 0 && here[capture.BlockNameResolution]*here[capture.BlockDecryption]*here[capture.BlockInterface] == 0 {
				t.Errorf("%s: file %d with %d packets: %v", order, i, n, here)
			}
			for kind, n := range here {
				seen[kind] += n
			}
		}
		for _, kind := range []uint32{capture.BlockCustom, capture.BlockJournal, capture.BlockStatistics} {
			if seen[kind] != 2 {
				t.Errorf("%s: %d blocks of type %d in %d files, want 2", order, seen[kind], kind, len(got.files))
			}
		}
	}
}

// TestRotationHeadBound repeats no more than its bounds.
func TestRotationHeadBound(t *testing.T) {
	const repeated = 1 << 20 // bytes of names and secrets in each file
	g := &capturetest.Forge{Order: binary.LittleEndian}
	g.Section(encoding.UnknownLength)
	g.Iface(1, 0)
	for range 5 {
		g.Block(capture.BlockDecryption, make([]byte, repeated/2-64))
	}
	for range 3 {
		g.Enhanced(0, 0, make([]byte, 200_000), 200_000)
	}
	got := rotate(t, chunked(t, g.Bytes(), 2048), Options{Size: 4096}, func() bool { return false })
	if last := got.files[len(got.files)-1]; len(last) > 2*repeated+1000 || len(capturetest.PacketsOf(t, chunked(t, last, 2048))) == 0 {
		t.Errorf("the last file has %d bytes and %d packets", len(last), len(capturetest.PacketsOf(t, chunked(t, last, 2048))))
	}
	secrets := 0
	for _, data := range got.files {
		if err := capturetest.Each(t, chunked(t, data, 2048), func(b *capture.Batch) {
			for _, k := range b.Blocks {
				if k.Type == capture.BlockDecryption {
					secrets++
				}
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
	if secrets < 5 {
		t.Errorf("%d blocks of secrets in %d files", secrets, len(got.files))
	}
}

// TestRotationNothing makes no file of headers alone.
func TestRotationNothing(t *testing.T) {
	section := &capturetest.Forge{Order: binary.BigEndian}
	section.Section(encoding.UnknownLength)
	for _, g := range []*capturetest.Forge{capturetest.Pcap(1, 0, 1, 0), section} {
		if got := rotate(t, chunked(t, g.Bytes(), 2048), Options{Size: 10}, func() bool { return false }); len(got.files) != 0 {
			t.Errorf("%q", got.names)
		}
	}
	all := rotate(t, chunked(t, capturetest.Pcap(1, 10, 1, 0).Bytes(), 2048), Options{Every: 1}, func() bool { return true })
	if len(all.files) != 0 {
		t.Errorf("%q of dropped packets", all.names)
	}
}

func TestRotationAllocations(t *testing.T) {
	r := newRotation(t, filepath.Join(t.TempDir(), "out.pcap"), Options{Size: 1 << 40, Every: time.Hour})
	defer r.Discard()
	src := chunked(t, capturetest.Pcap(1, 500, 1, 0).Bytes(), 2048)
	defer src.Close()
	var b capture.Batch
	for len(b.Frames) == 0 {
		if err := src.Next(&b); err != nil {
			t.Fatal(err)
		}
	}
	drop := make([]uint64, (len(b.Frames)+63)/64)
	for i := range drop {
		drop[i] = 0x8421
	}
	b.Blocks = nil
	if allocs := testing.AllocsPerRun(20, func() {
		if err := r.Write(&b, drop); err != nil {
			t.Fatal(err)
		}
	}); allocs > 0.5 { // the first run makes the file
		t.Errorf("%v allocations for a batch of %d frames", allocs, len(b.Frames))
	}
}

// TestRotationNoCopy leaves out what is not to be copied, as one file does.
func TestRotationNoCopy(t *testing.T) {
	for _, order := range []capturetest.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		var written [2][]byte
		for i, secret := range []bool{false, true} {
			src := chunked(t, capturetest.NoCopy(order, secret), 2048)
			files := rotate(t, src, Options{Size: 1500}, func() bool { return false }).files
			written[i] = bytes.Join(files, nil)
		}
		if !bytes.Equal(written[0], written[1]) {
			t.Errorf("%v: the files are not those of an input without", order)
		}
	}
}

// BenchmarkRotation writes one file without end, and files of 8 MiB.
func BenchmarkRotation(b *testing.B) {
	batch := capturetest.WholeBatch(b, chunked(b, capturetest.SmallPackets().Bytes(), 0))
	for _, size := range []int64{1 << 40, 8 << 20} {
		for _, d := range capturetest.BenchDrops {
			b.Run(fmt.Sprintf("size=%d/%s", size, d.Name), func(b *testing.B) {
				r, err := New(filepath.Join(b.TempDir(), "out.pcap"),
					Options{Size: size, Every: 24 * time.Hour, Keep: 2, Output: outfile.Options{NoSync: true}})
				if err != nil {
					b.Fatal(err)
				}
				defer r.Discard()
				capturetest.BenchWriter(b, batch, r, d.Word)
			})
		}
	}
}
