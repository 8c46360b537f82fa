// SPDX-License-Identifier: Apache-2.0

package xdp

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/flowdedup/flowdedup/bench/lab/labtest"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
)

// captures names the environment variable that makes the test binary capture from an
// interface until it is killed.
const captures = "FLOWDEDUP_TEST_CAPTURES"

func TestMain(m *testing.M) {
	name := os.Getenv(captures)
	if name == "" {
		os.Exit(m.Run())
	}
	if _, err := Open(Config{Interfaces: []string{name}, RingBytes: minRingBytes}); err != nil {
		os.Exit(1)
	}
	os.Stdout.WriteString("open\n")
	_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed
}

// TestKill checks that a killed process leaves nothing on the interface.
func TestKill(t *testing.T) {
	enterLab(t, "1")
	c := exec.Command("/proc/self/exe")
	c.Env = append(os.Environ(), captures+"=right")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil && err != io.EOF || line != "open\n" {
		t.Fatal(line, err)
	}
	if _, err := Open(Config{Interfaces: []string{"right"}}); err == nil {
		t.Fatal("a second program")
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // says that it was killed
	src := open(t, Config{})
	want := frames(10)
	send(t, "left", want...)
	capturetest.CompareFrames(t, labtest.Rest(t, src, nil).Data, want)
}
