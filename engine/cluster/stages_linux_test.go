// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// natsLab is a lab whose hub uses a NATS server that is a process of its own.
type natsLab struct {
	*lab
	program, users string
	server         *process
}

// newNatsLab makes a lab in which neither the server nor the hub runs.
func newNatsLab(t *testing.T, hubArgs ...string) *natsLab {
	t.Helper()
	if testing.Short() {
		t.Skip("takes a minute")
	}
	program, err := natsServer()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	n := &natsLab{lab: layLab(t, dir, filepath.Join(dir, "hub"), append([]string{"--window", wide, "--nats", "nats://10.90.0.1:4222", "--slices", "4"}, hubArgs...)...), program: program}
	n.beginHub() // makes the keys
	n.hubEnds()
	for _, s := range sites {
		n.token(s.name)
	}
	n.users = n.hubNet.run(filepath.Join(n.programs, "flowdedup-hub"), "users", "--state", n.hubDir)
	return n
}

// configure writes the configuration of the server.
func (n *natsLab) configure(users, more string) (name string) {
	n.t.Helper()
	name = filepath.Join(n.dir, "nats.conf")
	text := fmt.Sprintf("listen: \"10.90.0.1:4222\"\njetstream { store_dir: %q }\n%s\n%s\n", filepath.Join(n.dir, "store"), more, users)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		n.t.Fatal(err)
	}
	return name
}

// startServer starts the server with a configuration, again if it was there.
func (n *natsLab) startServer(more string) {
	n.t.Helper()
	n.server = startProcess(n.t, n.hubNet.command(n.program, "-c", n.configure(n.users, more)))
	n.server.wait("Server is ready")
}

// reload has the server read users anew.
func (n *natsLab) reload(users string) {
	n.t.Helper()
	n.configure(users, "")
	before := strings.Count(n.server.stderr.String(), "Reloaded server configuration")
	n.signal(n.server, syscall.SIGHUP)
	for end := time.Now().Add(time.Minute); strings.Count(n.server.stderr.String(), "Reloaded server configuration") == before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			n.t.Fatal("no reload: ", n.server.stderr.String())
		}
	}
}

// signal sends a signal to a process.
func (l *lab) signal(p *process, s syscall.Signal) {
	l.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		l.t.Error(err)
	}
}

// TestServerStages has the server away in each stage of sensors and hub: not there yet, killed while
// packets come, killed with the hub, stopped, killed while the hub stops. No packet is lost, each
// copy too many was counted as unchecked, and in the end each packet is kept once.
func TestServerStages(t *testing.T) {
	for _, args := range [][]string{nil, {"--journal"}, {"--filter", "timers"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			if args != nil && os.Getenv("FLOWDEDUP_CHAOS") == "" {
				t.Skip("one kind is enough, see make test SUITE=chaos")
			}
			n := newNatsLab(t, args...)
			for _, site := range []string{"a", "d"} {
				n.sensor(site, "--verdict-wait=1s")
			}
			n.send(1000, 1000)
			n.startServer("")
			n.send(1000, 1000) // without a hub
			n.startHub()
			rounds := []round{n.checked()}
			for _, stage := range []func(){
				func() { n.server.kill(); n.send(2000, 1000); n.startServer("") },
				func() { n.hub.kill(); n.server.kill(); n.send(500, 1000); n.startServer(""); n.startHub() },
				func() {
					n.hub.kill()
					n.server.kill()
					n.beginHub() // before the server
					n.hubEnds()
					n.startServer("")
					n.startHub()
				},
				func() {
					n.signal(n.server, syscall.SIGSTOP)
					n.send(6000, 1000)
					n.signal(n.server, syscall.SIGCONT)
				},
				func() {
					n.signal(n.hub, syscall.SIGTERM)
					n.server.kill()
					n.send(500, 1000)
					<-n.hub.ended
					n.startServer("")
					n.startHub()
				},
				func() { n.server.kill(); n.hub.stop(); n.startServer(""); n.startHub() },
			} {
				stage()
				rounds = append(rounds, n.checked())
			}
			counts, unchecked := n.counts("a", "d")
			once(t, counts, rounds...)
			t.Log(unchecked, "unchecked")
		})
	}
}

// TestEndedForGood has the server end connections so that clients make no other by themselves, by
// taking only short subjects, or short messages, and take permissions of sites and users away. The
// sensors pass all packets, counted, and once the server has its first configuration again, they ask.
func TestEndedForGood(t *testing.T) {
	n := newNatsLab(t)
	n.startServer("")
	n.startHub()
	for _, site := range []string{"a", "d"} {
		n.sensor(site, "--verdict-wait=1s")
	}
	rounds := []round{n.checked()}
	for _, limit := range []string{"max_control_line: 60", "max_payload: 100", "max_subs: 1", "max_connections: 1"} {
		n.hub.kill()
		n.server.kill()
		n.startServer(limit)
		n.beginHub()
		n.send(2000, 1000)
		n.hub.kill()
		n.server.kill()
		n.startServer("")
		n.startHub()
		rounds = append(rounds, n.checked())
	}
	for _, users := range []string{
		without(n.users, "# site a"),
		without(n.users, "its answers to sites"),
		without(n.users, "# flowdedup-hub\n"),
		strings.Replace(n.users, `publish: ["_INBOX.*.>"]`, `publish: ["none"]`, 1),
		strings.Replace(n.users, `"fd.main.*.*.*.*.a", `, "", 1),
		strings.Replace(n.users, `subscribe: ["_INBOX.a.>"]`, `subscribe: ["none"]`, 1),
		strings.Replace(n.users, `subscribe: ["fd.main.>"]`, `subscribe: ["none"]`, 1),
	} {
		if users == n.users {
			t.Fatal("nothing is taken away")
		}
		n.reload(users)
		n.send(2000, 1000)
		n.reload(n.users)
		if n.hubEnded() {
			n.startHub()
		}
		rounds = append(rounds, n.checked())
	}
	counts, unchecked := n.counts("a", "d")
	once(t, counts, rounds...)
	t.Log(unchecked, "unchecked")
}

// hubEnded reports whether the hub has ended by itself.
func (l *lab) hubEnded() bool {
	select {
	case <-l.hub.ended:
		return true
	default:
		return false
	}
}

// without returns users without the line after one that has a text.
func without(users, text string) string {
	lines := strings.SplitAfter(users, "\n")
	for i, line := range lines {
		if strings.Contains(line, text) {
			return strings.Join(append(lines[:i:i], lines[i+2:]...), "")
		}
	}
	return users
}
