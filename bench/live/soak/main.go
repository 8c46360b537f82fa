// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/flowdedup/flowdedup/bench/lab"
	"golang.org/x/sys/unix"
)

// inside names the environment variable that marks the process inside the namespaces.
const inside = "FLOWDEDUP_SOAK_INSIDE"

func main() {
	err := run(os.Args[1:], os.Stdout)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return
	}
	fmt.Fprintln(os.Stderr, "soak:", err)
	os.Exit(1)
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	duration := flags.Duration("duration", 30*time.Minute, "how long, at least 40s")
	rate := flags.Int("rate", 500_000, "packets a second")
	steady := flags.Bool("steady", false, "without faults, with an account of every packet")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 || *duration < 40*time.Second || *rate < 1000 {
		return errors.New("wrong usage: an argument, less than 40s, or less than 1000 packets a second")
	}
	if os.Getenv(inside) == "" {
		return enter(args, out)
	}
	lab.AllowInterrupts()
	dir, err := prepare()
	if err != nil {
		return err
	}
	s := &soak{duration: *duration, rate: *rate, dir: dir, out: out}
	return s.run(*steady)
}

// enter runs the program again in namespaces that end with it.
func enter(args []string, out io.Writer) error {
	again := exec.Command("/proc/self/exe", args...)
	again.Env = append(os.Environ(), inside+"=1")
	again.Stdout, again.Stderr = out, os.Stderr
	again.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if err := again.Run(); err != nil {
		return fmt.Errorf("not passed: %w", err)
	}
	return nil
}

// diskBytes is enough for the files that are kept and for the one being written.
const diskBytes = "size=768m"

// prepare makes the interfaces, and a small disk in memory at the folder that it returns.
// Both are invisible outside of the namespaces.
func prepare() (string, error) {
	dir := filepath.Join(os.TempDir(), "soak")
	err := errors.Join(lab.Prepare(), lab.IP("link set lo up"), lab.Pair("left", "right"), lab.Pair("out", "tool"),
		unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""), os.MkdirAll(dir, 0o700), unix.Mount("soak", dir, "tmpfs", 0, diskBytes))
	return dir, err
}
