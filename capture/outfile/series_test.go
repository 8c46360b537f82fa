// SPDX-License-Identifier: Apache-2.0

package outfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// made makes files of a series in a folder, by a run of its own.
func made(t *testing.T, dir string, names ...string) {
	t.Helper()
	s, err := OpenSeries(filepath.Join(dir, "cap.pcap"), regexp.MustCompile(`^cap-.*\.pcap$`))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		f, err := CreateNew(filepath.Join(dir, "cap.pcap"), func() string { return name }, Options{Series: s})
		if err != nil {
			t.Fatal(err)
		}
		writeTo(t, f, "content of "+name)
		if err := f.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(s.Err(), s.Close()); err != nil {
		t.Fatal(err)
	}
}

// known returns the files of a series that a later run knows, and how many others there are.
func known(t *testing.T, dir string) (names []string, others int) {
	t.Helper()
	s, err := OpenSeries(filepath.Join(dir, "cap.pcap"), regexp.MustCompile(`^cap-.*\.pcap$`))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	files, others, err := s.Files()
	if err != nil {
		t.Fatal(err)
	}
	for i := range files {
		names = append(names, files[i].Name)
	}
	slices.Sort(names)
	return names, others
}

// TestSeriesKnows files of earlier runs, and none that somebody has copied, moved, changed or put
// there.
func TestSeriesKnows(t *testing.T) {
	record := ".cap.pcap" + recordEnding
	for _, c := range []struct {
		name   string
		do     func(dir string) error
		want   []string
		others int
	}{
		{"nothing", func(string) error { return nil }, []string{"cap-1.pcap", "cap-2.pcap"}, 0},
		{"removed", func(dir string) error { return os.Remove(filepath.Join(dir, "cap-1.pcap")) }, []string{"cap-2.pcap"}, 0},
		{"moved", func(dir string) error {
			return os.Rename(filepath.Join(dir, "cap-1.pcap"), filepath.Join(dir, "cap-best.pcap"))
		}, []string{"cap-2.pcap"}, 1},
		{"copied", func(dir string) error {
			return copyLike(filepath.Join(dir, "cap-1.pcap"), filepath.Join(dir, "cap-3.pcap"))
		}, []string{"cap-1.pcap", "cap-2.pcap"}, 1},
		{"copied over", func(dir string) error {
			return copyLike(filepath.Join(dir, "cap-1.pcap"), filepath.Join(dir, "cap-2.pcap"))
		}, []string{"cap-1.pcap"}, 1},
		{"appended to", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "cap-1.pcap"), []byte("content of cap-1.pcap, and more"), 0o600)
		}, []string{"cap-2.pcap"}, 1},
		{"touched", func(dir string) error {
			info, err := os.Stat(filepath.Join(dir, "cap-1.pcap"))
			return errors.Join(err, os.Chtimes(filepath.Join(dir, "cap-1.pcap"), info.ModTime(), info.ModTime().Add(1e9)))
		}, []string{"cap-2.pcap"}, 1},
		{"another's", func(dir string) error { return os.WriteFile(filepath.Join(dir, "cap-0.pcap"), nil, 0o600) }, []string{"cap-1.pcap", "cap-2.pcap"}, 1},
		{"without the record", func(dir string) error { return os.Remove(filepath.Join(dir, record)) }, nil, 2},
		{"torn record", func(dir string) error {
			text, err := os.ReadFile(filepath.Join(dir, record))
			return errors.Join(err, os.WriteFile(filepath.Join(dir, record), text[:len(text)-3], 0o600))
		}, []string{"cap-1.pcap"}, 1},
		{"damaged record", func(dir string) error {
			text, err := os.ReadFile(filepath.Join(dir, record))
			lines := strings.Split(string(text), "\n")
			lines[1] = "1 2 3\x00" + lines[1]
			return errors.Join(err, os.WriteFile(filepath.Join(dir, record), []byte(strings.Join(lines, "\n")+"\n\n9 9 9 \"../x\"\n"), 0o600))
		}, []string{"cap-2.pcap"}, 1},
		{"link for a file", func(dir string) error {
			moved := filepath.Join(dir, "elsewhere")
			return errors.Join(os.Rename(filepath.Join(dir, "cap-1.pcap"), moved), os.Symlink("elsewhere", filepath.Join(dir, "cap-1.pcap")))
		}, []string{"cap-2.pcap"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			made(t, dir, "cap-1.pcap")
			made(t, dir, "cap-2.pcap")
			if err := c.do(dir); err != nil {
				t.Skip(err)
			}
			for range 2 { // the first run writes the record anew
				if got, others := known(t, dir); !slices.Equal(got, c.want) || others != c.others {
					t.Errorf("%q and %d others, want %q and %d", got, others, c.want, c.others)
				}
			}
			made(t, dir, "cap-9.pcap")
			if got, _ := known(t, dir); !slices.Equal(got, append(slices.Clone(c.want), "cap-9.pcap")) {
				t.Errorf("afterwards %q", got)
			}
		})
	}
}

// copyLike copies a file with its time, as cp -p does.
func copyLike(from, to string) error {
	text, err := os.ReadFile(from)
	info, failed := os.Stat(from)
	if err := errors.Join(err, failed, os.WriteFile(to, text, 0o600)); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

// TestSeriesRemoves only what is still as it was made, and no input.
func TestSeriesRemoves(t *testing.T) {
	dir := t.TempDir()
	made(t, dir, "cap-1.pcap", "cap-2.pcap", "cap-3.pcap", "cap-4.pcap")
	s, err := OpenSeries(filepath.Join(dir, "cap.pcap"), regexp.MustCompile(`^cap-.*\.pcap$`))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	files, _, err := s.Files()
	if err != nil || len(files) != 4 {
		t.Fatalf("%v, %v", files, err)
	}
	slices.SortFunc(files, func(a, b MadeFile) int { return strings.Compare(a.Name, b.Name) })
	if err := os.Link(filepath.Join(dir, "cap-2.pcap"), filepath.Join(dir, "input")); err != nil {
		t.Skip(err)
	}
	input, err := os.Stat(filepath.Join(dir, "input"))
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "cap-3.pcap"), "somebody's")
	if err := os.Remove(filepath.Join(dir, "cap-4.pcap")); err != nil {
		t.Fatal(err)
	}
	for i, want := range []error{nil, ErrStays, ErrStays, nil} {
		if err := s.Remove(&files[i], []fs.FileInfo{input}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", files[i].Name, err, want)
		}
	}
	got, others := knownOf(t, s)
	if !slices.Equal(got, []string{"cap-2.pcap"}) || others != 1 {
		t.Errorf("%q, %d", got, others)
	}
}

func knownOf(t *testing.T, s *Series) (names []string, others int) {
	t.Helper()
	files, others, err := s.Files()
	if err != nil {
		t.Fatal(err)
	}
	for i := range files {
		names = append(names, files[i].Name)
	}
	return names, others
}

// TestSeriesForgets files that are gone, so that neither memory nor the record grows for ever.
func TestSeriesForgets(t *testing.T) {
	dir := t.TempDir()
	s, err := OpenSeries(filepath.Join(dir, "cap.pcap"), regexp.MustCompile(`^cap-.*\.pcap$`))
	if err != nil {
		t.Fatal(err)
	}
	s.NoSync = true
	put(t, filepath.Join(dir, "cap-0.pcap"), "content")
	info, err := os.Stat(filepath.Join(dir, "cap-0.pcap"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 * freshLines {
		e := entryOf("cap-0.pcap", info)
		if i > 0 {
			e.name, e.number = "cap-gone.pcap", uint64(i)
		}
		if err := s.add(e); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.made) > 2*freshLines || len(s.made) < 2 {
		t.Errorf("%d files are remembered", len(s.made))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got, _ := known(t, dir); !slices.Equal(got, []string{"cap-0.pcap"}) {
		t.Errorf("%q", got)
	}
	if record, err := os.Stat(filepath.Join(dir, ".cap.pcap"+recordEnding)); err != nil || record.Size() > 200 {
		t.Errorf("%v, %v", record, err)
	}
}

// TestPatternLock has two runs at a time, whose files could or could not get the same names.
func TestPatternLock(t *testing.T) {
	for _, c := range []struct {
		name, pattern string
		locked        bool
	}{
		{"cap.pcap", `^cap-(\d{8})\.pcap$`, true},
		{"cap-%H.pcap", `^cap-(\d{2})\.pcap$`, false},
		{"other-%s.pcap", `^cap-(-?\d+)(?:_(\d+))?\.pcap$`, true},
		{"other.pcap", `^other-(\d{8})\.pcap$`, false},
	} {
		dir := t.TempDir()
		first, err := OpenSeries(filepath.Join(dir, "cap.pcap"), regexp.MustCompile(`^cap-(\d{8})\.pcap$`))
		if err != nil {
			t.Fatal(err)
		}
		if first.lock.file == nil {
			t.Skip("no locks here")
		}
		second, err := OpenSeries(filepath.Join(dir, c.name), regexp.MustCompile(c.pattern))
		if errors.Is(err, ErrLocked) != c.locked || err != nil && !strings.Contains(err.Error(), "process ") {
			t.Errorf("%s: %v", c.name, err)
		}
		if err == nil {
			err = second.Close()
		} else {
			err = nil
		}
		if err := errors.Join(err, first.Close()); err != nil {
			t.Error(err)
		}
		if third, err := OpenSeries(filepath.Join(dir, c.name), regexp.MustCompile(c.pattern)); err != nil {
			t.Errorf("%s afterwards: %v", c.name, err)
		} else if err := third.Close(); err != nil {
			t.Error(err)
		}
		holds(t, dir, nil)
	}
}

func TestOverlap(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`^a$`, `^a$`, true},
		{`^a$`, `^b$`, false},
		{`^a$`, `^aa$`, false},
		{`^cap-\d{2}\.pcap$`, `^cap-\d{3}\.pcap$`, false},
		{`^cap-\d{2}(?:_(\d+))?\.pcap$`, `^cap-\d{2}_\d{2}\.pcap$`, true},
		{`^cap-[A-Za-z]+\.pcap$`, `^cap-\d{8}\.pcap$`, false},
		{`^cap-[A-Za-z]+-x$`, `^cap-Sat(?:-x)?$`, true},
		{`^cap-[-+A-Za-z0-9]+\.pcap$`, `^cap-\d{8}T\d{6}\.pcap$`, true},
		{`^cap-(-?\d+)\.pcap$`, `^cap--7\.pcap$`, true},
		{`^cap-.\.pcap$`, `^cap-é\.pcap$`, true},
		{`^(?:a|b)+c$`, `^(?:b|d)+c$`, true},
		{`^(?:a|b)+c$`, `^(?:d|e)+c$`, false},
	} {
		a, b := regexp.MustCompile(c.a), regexp.MustCompile(c.b)
		if Overlap(a, b) != c.want || Overlap(b, a) != c.want {
			t.Errorf("%s and %s: want %v", c.a, c.b, c.want)
		}
	}
}

// FuzzRecord reads records that anything may have written: a line is taken as a whole or not at all.
func FuzzRecord(f *testing.F) {
	f.Add("1 2 3 \"a\"")
	f.Add("18446744073709551615 -1 -9223372036854775808 \"\\xff\\n\"")
	f.Add("1 2 3 \"../a\"")
	f.Add("1 2 3 \"..\"")
	f.Add("1 2 3 \"/\"")
	f.Fuzz(func(t *testing.T, line string) {
		e, ok := parseEntry(line)
		if !ok {
			return
		}
		if e.name == ".." || strings.ContainsRune(e.name, filepath.Separator) {
			t.Errorf("%q leads out of the folder", e.name)
		}
		if again, ok := parseEntry(e.line()); !ok || again != e {
			t.Errorf("%q became %+v", e.line(), again)
		}
	})
}
