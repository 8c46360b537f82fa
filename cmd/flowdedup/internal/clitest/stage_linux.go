// SPDX-License-Identifier: Apache-2.0

package clitest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
)

// Place is where an output goes.
type Place string

// The places that a BadEnd is tried with.
const (
	NewName   Place = "new name"
	OlderFile Place = "older output"
	InPlace   Place = "in Place"
	BindMount Place = "bind mount"
	NoReader  Place = "pipe without reader"
)

// BadEnd is how a run ends other than well.
type BadEnd struct {
	Name   string
	Signal syscall.Signal // 0 for none
	Code   int
}

// BadEnds are all of them: signals, and a damaged input.
var BadEnds = []BadEnd{
	{"SIGTERM", syscall.SIGTERM, 143}, {"SIGINT", syscall.SIGINT, 130}, {"SIGKILL", syscall.SIGKILL, -1},
	{"SIGHUP", syscall.SIGHUP, 129}, {"damage", 0, cli.ExitDamaged}, {"SIGQUIT", syscall.SIGQUIT, 131},
}

// Stage is the files around one run.
type Stage struct {
	t       *testing.T
	Dir     string
	In, Out string
	Older   []byte // what out holds before, nil for nothing
}

// SetStage makes an input, and the output as it is before the run.
func SetStage(t *testing.T, where Place, ending string) *Stage {
	t.Helper()
	s := &Stage{t: t, Dir: t.TempDir()}
	s.In, s.Out = filepath.Join(s.Dir, "in.pcapng"), filepath.Join(s.Dir, "out"+ending)
	capture := ReadFile(t, Bundled("router-plain.pcapng"))
	s.write(s.In, capture)
	switch where {
	case OlderFile:
		s.Older = []byte("older")
		s.write(s.Out, s.Older)
	case InPlace:
		s.Out, s.Older = s.In, capture
	case BindMount:
		host := filepath.Join(t.TempDir(), "file")
		s.Older = []byte("older")
		s.write(host, s.Older)
		s.write(s.Out, nil)
		mountOver(t, host, s.Out)
	case NoReader:
		if err := syscall.Mkfifo(s.Out, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *Stage) write(name string, content []byte) {
	s.t.Helper()
	if err := os.WriteFile(name, content, 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// mountOver makes a file a mount, in a namespace of the test's own.
func mountOver(t *testing.T, host, name string) {
	t.Helper()
	if err := unix.Mount(host, name, "", unix.MS_BIND, ""); err != nil {
		t.Skip("no bind mount: ", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(name, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// Visible returns the file that a run left with what it processed, or "". It checks that
// the older file is unchanged and that nothing is hidden.
func (s *Stage) Visible() string {
	s.t.Helper()
	if s.Older != nil {
		if now, err := os.ReadFile(s.Out); err != nil || !bytes.Equal(now, s.Older) {
			s.t.Errorf("the older file has %d bytes, %v; want the %d it had", len(now), err, len(s.Older))
		}
	}
	var left []string
	for _, name := range Entries(s.t, s.Dir) {
		name = filepath.Join(s.Dir, name)
		if name != s.In && (name != s.Out || s.Older == nil) {
			left = append(left, name)
		}
	}
	if len(left) > 1 || len(left) == 1 && strings.HasPrefix(filepath.Base(left[0]), ".") {
		s.t.Errorf("left behind: %q", left)
	}
	if len(left) == 0 {
		return ""
	}
	return left[0]
}

// AwaitOpen waits until a program waits for the reader of a named pipe. It has installed
// its signal handlers by then.
func AwaitOpen(t *testing.T, p *os.Process) {
	t.Helper()
	wait.Until(t, "the program to open the pipe", func() bool {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/wchan", p.Pid))
		return slices.ContainsFunc(threads, func(name string) bool {
			where, _ := os.ReadFile(name)
			return string(where) == "wait_for_partner"
		})
	})
}

// PrivateMounts gives the test's thread and its children mounts of their own.
func PrivateMounts(t *testing.T) {
	t.Helper()
	runtime.LockOSThread()
	err := unix.Unshare(unix.CLONE_NEWNS)
	if err == nil {
		err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	}
	if err != nil {
		t.Skip("no mounts: ", err)
	}
}
