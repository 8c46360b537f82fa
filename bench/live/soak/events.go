// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/flowdedup/flowdedup/bench/lab"
	"golang.org/x/sys/unix"
)

// event is a fault that happens when its share of the duration has passed.
type event struct {
	at     float64
	name   string
	happen func(*soak) error
}

// eventPause is how long a fault lasts.
const eventPause = 2 * time.Second

var events = []event{
	{0.20, "interface down and up", func(*soak) error {
		return between(func() error { return lab.IP("link set right down") }, func() error { return lab.IP("link set right up") })
	}},
	{0.30, "interface removed and made again", func(*soak) error {
		return between(func() error { return lab.IP("link del right") }, func() error { return lab.Pair("left", "right") })
	}},
	{0.40, "interface renamed and named back", func(*soak) error {
		return between(func() error { return rename("right", "away") }, func() error { return rename("away", "right") })
	}},
	{0.50, "disk full and free again", (*soak).fillDisk},
	{0.65, "killed and started again", (*soak).kill},
}

func between(begin, end func() error) error {
	if err := begin(); err != nil {
		return err
	}
	time.Sleep(eventPause)
	return end()
}

func rename(from, to string) error {
	return errors.Join(lab.IP("link set "+from+" down"), lab.IP("link set "+from+" name "+to), lab.IP("link set "+to+" up"))
}

// fillDisk fills the disk for a while.
func (s *soak) fillDisk() error {
	name := filepath.Join(s.dir, "filler")
	filler, err := os.Create(name)
	if err != nil {
		return err
	}
	defer filler.Close()
	return between(func() error { return fill(filler) }, func() error { return os.Remove(name) })
}

func fill(file *os.File) error {
	piece := make([]byte, 1<<20)
	for {
		if _, err := file.Write(piece); errors.Is(err, unix.ENOSPC) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// kill ends the process with SIGKILL, reads the remaining files, and starts it again.
func (s *soak) kill() error {
	if err := s.process.Process.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	_ = s.process.Wait() // it was killed
	return errors.Join(s.readFiles(), s.launch(line, nil))
}
