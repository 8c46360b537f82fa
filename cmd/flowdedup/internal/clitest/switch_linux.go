// SPDX-License-Identifier: Apache-2.0

package clitest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
)

// OpenVSwitch is Open vSwitch in user space. Its bridges are one path: what enters the first
// leaves the last.
type OpenVSwitch struct {
	t   *testing.T
	dir string
}

// NewOpenVSwitch makes a switch of several bridges, behind each other at pairs of interfaces.
// Packets sent out of left0 enter the first.
func NewOpenVSwitch(t *testing.T, bridges int) *OpenVSwitch {
	t.Helper()
	s := &OpenVSwitch{t, t.TempDir()}
	schema := "/usr/share/openvswitch/vswitch.ovsschema"
	if _, err := os.Stat(schema); err != nil {
		t.Skip(err)
	}
	s.run("ovsdb-tool", "create", s.path("conf.db"), schema)
	s.daemon("ovsdb-server", s.path("conf.db"), "--remote=punix:"+s.path("db.sock"))
	s.Set("--no-wait", "init")
	// Flows are reported soon after they end.
	s.Set("--no-wait", "set", "Open_vSwitch", ".", "other_config:max-idle=500")
	s.daemon("ovs-vswitchd", "unix:"+s.path("db.sock"))
	for n := range bridges + 1 {
		Pair(t, fmt.Sprintf("left%d", n), fmt.Sprintf("right%d", n))
	}
	for n := range bridges {
		name := Bridge(n)
		in, out := fmt.Sprintf("right%d", n), fmt.Sprintf("left%d", n+1)
		s.Set("add-br", name, "--", "set", "bridge", name, "datapath_type=netdev", "--", "add-port", name, in, "--", "add-port", name, out)
		// It would learn that both ends of a conversation are at one side.
		s.Actions(n, "", "output:"+out)
	}
	return s
}

// Bridge returns the name of a bridge.
func Bridge(n int) string { return fmt.Sprintf("br%d", n+1) }

func (s *OpenVSwitch) path(name string) string { return filepath.Join(s.dir, name) }

func (s *OpenVSwitch) run(name string, args ...string) {
	s.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "OVS_RUNDIR="+s.dir, "OVS_LOGDIR="+s.dir, "OVS_DBDIR="+s.dir, "OVS_SYSCONFDIR="+s.dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("%s %q: %v: %s", name, args, err, out)
	}
}

// daemon starts a program of the switch, and ends it with the test.
func (s *OpenVSwitch) daemon(name string, args ...string) {
	s.t.Helper()
	pidFile := s.path(name + ".pid")
	s.run(name, append(args, "--pidfile="+pidFile, "--detach", "--no-chdir", "--log-file="+s.path(name+".log"), "--unixctl="+s.path(name+".ctl"))...)
	pid, err := strconv.Atoi(strings.TrimSpace(string(ReadFile(s.t, pidFile))))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = syscall.Kill(pid, syscall.SIGTERM)
		wait.Until(s.t, name+" to end", func() bool { return syscall.Kill(pid, 0) != nil })
	})
}

// Actions says what a bridge does with packets of a protocol, such as "ip,", that enter it: with all if
// it is empty.
func (s *OpenVSwitch) Actions(n int, protocol, actions string) {
	s.t.Helper()
	to := "unix:" + s.path(Bridge(n)+".mgmt")
	s.run("ovs-ofctl", "del-flows", to)
	s.run("ovs-ofctl", "-O", "OpenFlow15", "add-flow", to, fmt.Sprintf("%sin_port=right%d,actions=%s", protocol, n, actions))
	s.run("ovs-appctl", "-t", s.path("ovs-vswitchd.ctl"), "revalidator/purge") // else old actions stay a while
}

// Set runs ovs-vsctl(8).
func (s *OpenVSwitch) Set(args ...string) {
	s.t.Helper()
	s.run("ovs-vsctl", append([]string{"--db=unix:" + s.path("db.sock")}, args...)...)
}
