// SPDX-License-Identifier: Apache-2.0

package analyzers_test

import (
	"bufio"
	"encoding/binary"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/flowdedup/flowdedup/bench/lab/labtest"
	"github.com/flowdedup/flowdedup/bench/lab/wait"
)

// TestForward runs the recipe for a sensor behind a pair of interfaces, in a new network
// namespace. Captures are replayed into the mirrored interface, and tcpdump is the
// sensor. The window is so long, and the sensor is stopped so late, that scheduling on
// the machine does not matter.
func TestForward(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: it replays captures for seconds")
	}
	setup := blocks(t, "## Behind an interface")
	for _, c := range []struct {
		scene scene
		iface string // that the recipe captures from
		setup string
		live  string
	}{
		{scenes[0], "eth1", setup[0], setup[1]},
		{scenes[1], "eth0", strings.ReplaceAll(setup[0], "eth1", "eth0"), blocks(t, "## Mirrors of clouds")[1]},
	} {
		t.Run(c.scene.name, func(t *testing.T) {
			k := newKitchen(t, "python3", "ip", "ethtool", "sysctl", "tcpdump", "tcpreplay")
			labtest.Enter(t)
			labtest.Pair(t, "wire", c.iface)
			k.cook(c.setup)
			sensor := k.start("exec tcpdump -i mon1 --immediate-mode -U -w sensor.pcap", "listening on")
			const patient = " --window 1s --hold 1s "
			live := strings.Replace(c.live, "--window 10ms ", "", 1)
			run := k.start("exec "+strings.Replace(live, " live ", " live"+patient, 1), "started")
			k.cook("tcpdump -r " + absolute(t, c.scene.capture()) + " -w replay.pcap && tcpreplay -q -i wire replay.pcap")
			want := c.scene.flows(t, c.scene.capture(), "")
			offline, _ := c.scene.dedup(t, c.scene.capture(), strings.Fields(patient)...)
			want.Packets = c.scene.flows(t, offline, "").Packets
			wait.For(func() bool { return records(t, k.path("sensor.pcap")) >= want.Packets })
			k.stop(run, 128+int(syscall.SIGINT))
			k.stop(sensor, 0)
			if got := c.scene.flows(t, k.path("sensor.pcap"), c.scene.key); got != want {
				t.Errorf("the sensor sees %+v, want %+v", got, want)
			}
		})
	}
}

// records counts the whole records of a capture that a program still writes.
func records(t *testing.T, path string) (n int) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const fileHead, recordHead, capturedAt = 24, 16, 8
	for at := fileHead; at+recordHead <= len(text); {
		if at += recordHead + int(binary.NativeEndian.Uint32(text[at+capturedAt:])); at <= len(text) {
			n++
		}
	}
	return n
}

// start runs a script until it logs the word that marks it as ready.
func (k *kitchen) start(script, ready string) *exec.Cmd {
	k.t.Helper()
	cmd := k.shell(script)
	log, err := cmd.StderrPipe()
	if err != nil {
		k.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(func() { _ = cmd.Process.Kill() })
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		if strings.Contains(lines.Text(), ready) {
			go func() { _, _ = io.Copy(io.Discard, log) }()
			return cmd
		}
		k.t.Log(lines.Text())
	}
	k.t.Fatalf("%s ended: %v", script, lines.Err())
	return nil
}

// stop interrupts a program, and checks its exit code.
func (k *kitchen) stop(cmd *exec.Cmd, code int) {
	k.t.Helper()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		k.t.Fatal(err)
	}
	_ = cmd.Wait() // its exit code says it
	if got := cmd.ProcessState.ExitCode(); got != code {
		k.t.Errorf("%s: exit code %d, want %d", cmd.Args[len(cmd.Args)-1], got, code)
	}
}
