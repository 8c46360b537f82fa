// SPDX-License-Identifier: Apache-2.0

//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package outfile

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// within fails the test if do takes long: whatever has a name, nothing waits for it.
func within(t *testing.T, what string, do func()) {
	t.Helper()
	done := make(chan bool)
	go func() { do(); close(done) }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal(what + " waits")
	}
}

// kinds makes files that are no regular files of this user. The last needs root.
var kinds = map[string]func(name string) error{
	"pipe":   func(name string) error { return syscall.Mkfifo(name, 0o666) },
	"link":   func(name string) error { return os.Symlink("precious", name) },
	"folder": func(name string) error { return os.Mkdir(name, 0o777) },
	"socket": func(name string) error {
		l, err := net.Listen("unix", name)
		if err == nil {
			l.(*net.UnixListener).SetUnlinkOnClose(false)
			err = l.Close()
		}
		return err
	},
	"another user's": func(name string) error {
		return errors.Join(os.WriteFile(name, nil, 0o666), os.Chown(name, 65534, 65534))
	},
}

// TestForeign has files of all kinds under the names of ours, in a folder that others may write to:
// outputs are written as if they were not there, and they stay.
func TestForeign(t *testing.T) {
	ours := []string{".x.01234567" + tempEnding, ".out" + lockEnding, ".cap.pcap" + lockEnding, ".cap.pcap" + recordEnding, ".other" + lockEnding}
	for kind, makeOne := range kinds {
		t.Run(kind, func(t *testing.T) {
			dir, err := os.MkdirTemp("", "x") // short, as names of sockets are
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			put(t, filepath.Join(dir, "precious"), "precious")
			before := map[string]fs.FileInfo{}
			for _, name := range ours {
				if err := makeOne(filepath.Join(dir, name)); err != nil {
					t.Skip(err)
				}
				if before[name], err = os.Lstat(filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
			within(t, kind, func() {
				f := create(t, filepath.Join(dir, "out"))
				writeTo(t, f, "content")
				if err := f.Commit(); err != nil {
					t.Error(err)
				}
				s, err := OpenSeries(filepath.Join(dir, "cap.pcap"), regexp.MustCompile(`^cap-.*\.pcap$`))
				if err != nil {
					t.Error(err)
					return
				}
				f, err = CreateNew(filepath.Join(dir, "cap.pcap"), func() string { return "cap-1.pcap" }, Options{Series: s})
				if err != nil {
					t.Error(err)
					return
				}
				if err := f.Commit(); err != nil {
					t.Error(err)
				}
				if err := s.Err(); err == nil || !strings.Contains(err.Error(), recordEnding) {
					t.Errorf("files are not recorded, and Err is %v", err)
				}
				if files, _, err := s.Files(); err != nil || len(files) != 1 { // of this run
					t.Errorf("%v, %v", files, err)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
				Sweep(filepath.Join(dir, "any"))
			})
			for name, was := range before {
				if now, err := os.Lstat(filepath.Join(dir, name)); err != nil || !os.SameFile(now, was) || now.Mode() != was.Mode() || now.Size() != was.Size() {
					t.Errorf("%s became %v, %v", name, now, err)
				}
			}
			if read(t, filepath.Join(dir, "precious")) != "precious" || read(t, filepath.Join(dir, "out")) != "content" {
				t.Error("other content")
			}
		})
	}
}

// TestHardLinks has other names of a file under the names of ours: it is not written to.
func TestHardLinks(t *testing.T) {
	dir := t.TempDir()
	precious := filepath.Join(dir, "precious")
	put(t, precious, "precious")
	for _, name := range []string{".out" + lockEnding, ".cap.pcap" + lockEnding, ".cap.pcap" + recordEnding} {
		if err := os.Link(precious, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	f := create(t, filepath.Join(dir, "out"))
	if l, err := lockName(f.dest.(*replacing).dir, "out"); !errors.Is(err, ErrLocked) {
		t.Errorf("no lock: %v, %v", l, err)
	}
	if err := f.Commit(); err != nil {
		t.Error(err)
	}
	s, err := OpenSeries(filepath.Join(dir, "cap.pcap"), regexp.MustCompile(`^cap-.*\.pcap$`))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.add(entry{name: "cap-1.pcap"}); !errors.Is(err, errForeign) {
		t.Errorf("add: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if got := read(t, precious); got != "precious" {
		t.Errorf("it holds %q", got)
	}
}

// TestForeignLock has a different user hold the lock of a name in a shared folder: nobody is kept from the
// name, and what the other makes of it meanwhile stays.
func TestForeignLock(t *testing.T) {
	dir := t.TempDir()
	lock := filepath.Join(dir, ".out"+lockEnding)
	if err := kinds["another user's"](lock); err != nil {
		t.Skip(err)
	}
	held, err := os.Open(lock)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := lockFile(held); err != nil {
		t.Skip(err)
	}
	f := create(t, filepath.Join(dir, "out"))
	writeTo(t, f, "ours")
	put(t, filepath.Join(dir, "out"), "the other's")
	if err := f.Commit(); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "out.partial") {
		t.Errorf("Commit: %v", err)
	}
	holds(t, dir, map[string]string{"out": "the other's", "out.partial": "ours", filepath.Base(lock): ""})
}

// TestStateKinds opens and replaces states, and nothing else.
func TestStateKinds(t *testing.T) {
	const magic = "MAGIC123"
	for name, makeOne := range kinds {
		if name == "another user's" || name == "link" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			state := filepath.Join(t.TempDir(), "s")
			if err := makeOne(state); err != nil {
				t.Skip(err)
			}
			before, err := os.Lstat(state)
			if err != nil {
				t.Fatal(err)
			}
			within(t, name, func() {
				if _, err := OpenState(state, magic); !errors.Is(err, ErrNotState) {
					t.Errorf("OpenState: %v", err)
				}
				if _, err := CreateState(context.Background(), state, magic); !errors.Is(err, ErrNotState) {
					t.Errorf("CreateState: %v", err)
				}
			})
			if now, err := os.Lstat(state); err != nil || !os.SameFile(now, before) {
				t.Errorf("it became %v, %v", now, err)
			}
		})
	}
	for content, want := range map[string]error{"": ErrNotState, "MAGIC12": ErrNotState, "text that is longer": ErrNotState, magic: nil, magic + "and more": nil} {
		state := filepath.Join(t.TempDir(), "s")
		put(t, state, content)
		if err := CheckState(state, magic); !errors.Is(err, want) {
			t.Errorf("%q: %v", content, err)
		}
	}
	if err := CheckState(filepath.Join(t.TempDir(), "none"), magic); err != nil {
		t.Error(err)
	}
	// A pipe takes the name while the state is written.
	state := filepath.Join(t.TempDir(), "s")
	put(t, state, magic)
	f, err := CreateState(context.Background(), state, magic)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(state), syscall.Mkfifo(state, 0o600)); err != nil {
		t.Skip(err)
	}
	within(t, "commit", func() {
		if err := f.Commit(); !errors.Is(err, ErrNotRegular) {
			t.Errorf("Commit: %v", err)
		}
	})
	if now, err := os.Lstat(state); err != nil || now.Mode()&fs.ModeNamedPipe == 0 {
		t.Errorf("it became %v, %v", now, err)
	}
}
