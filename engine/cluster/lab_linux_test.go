// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/engine/cluster/hub"
)

// namespace is the network of a machine.
type namespace struct {
	t   *testing.T
	pid int
}

// newNamespace makes a namespace that lasts as long as the test.
func newNamespace(t *testing.T) *namespace {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	c := exec.Command("unshare", "--net", "sleep", "3600")
	if err := c.Start(); err != nil {
		t.Skip("no network namespace: ", err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	n := &namespace{t, c.Process.Pid}
	home, _ := os.Readlink("/proc/self/ns/net")
	ended := false
	wait.Until(t, "a network namespace", func() bool {
		there, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", n.pid))
		ended = err != nil // unshare ends it if it lacks the rights
		return ended || there != home
	})
	if ended {
		t.Skip("no network namespace")
	}
	n.run("ip", "link", "set", "lo", "up")
	return n
}

// command returns a command in the namespace.
func (n *namespace) command(name string, args ...string) *exec.Cmd {
	return exec.Command("nsenter", append([]string{fmt.Sprintf("--net=/proc/%d/ns/net", n.pid), "--", name}, args...)...)
}

// run runs a command to its end.
func (n *namespace) run(name string, args ...string) string {
	n.t.Helper()
	out, err := n.command(name, args...).CombinedOutput()
	if err != nil {
		n.t.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// ip runs ip(8).
func (n *namespace) ip(args string) {
	n.t.Helper()
	n.run("ip", strings.Fields(args)...)
}

// link makes a link between two namespaces.
func link(a *namespace, nameA, addressA string, b *namespace, nameB, addressB string) {
	a.t.Helper()
	a.ip(fmt.Sprintf("link add %s type veth peer name %s netns %d", nameA, nameB, b.pid))
	for _, end := range []struct {
		at            *namespace
		name, address string
	}{{a, nameA, addressA}, {b, nameB, addressB}} {
		end.at.run("sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/"+end.name+"/disable_ipv6")
		end.at.ip("addr add " + end.address + " dev " + end.name)
		end.at.ip("link set " + end.name + " up")
	}
}

// lab is one routed path, and a hub:
//
//	client -- router1 -- router2 -- server
//
// Sites a to d see every packet, on the four interfaces of the routers. A cable leads from
// each router to the hub, which the sites of that router use.
type lab struct {
	t                                *testing.T
	dir, hubDir                      string
	client, one, two, server, hubNet *namespace
	programs                         string
	hub                              *process
	hubArgs                          []string
	sensors                          map[string]*process
	since                            map[*process]int // numbers that were sent before a sensor began
	sent                             int              // numbers
}

// sites are where the sensors are.
var sites = []struct{ name, iface string }{{"a", "left"}, {"b", "right"}, {"c", "left"}, {"d", "right"}}

// at returns the namespace of a site.
func (l *lab) at(site string) *namespace {
	if site < "c" {
		return l.one
	}
	return l.two
}

// newLab makes a lab with a hub that runs.
func newLab(t *testing.T, hubArgs ...string) *lab {
	t.Helper()
	dir := t.TempDir()
	return newLabAt(t, dir, filepath.Join(dir, "hub"), hubArgs...)
}

// newLabAt is newLab with folders of sensors and hub.
func newLabAt(t *testing.T, dir, hubDir string, hubArgs ...string) *lab {
	t.Helper()
	l := layLab(t, dir, hubDir, hubArgs...)
	l.startHub()
	return l
}

// layLab is newLabAt with a hub that does not run yet.
func layLab(t *testing.T, dir, hubDir string, hubArgs ...string) *lab {
	t.Helper()
	if _, err := exec.LookPath("tcpdump"); err != nil {
		t.Skipf("no tcpdump to compile the sensors' filters: %v", err)
	}
	l := &lab{t: t, dir: dir, hubDir: hubDir, hubArgs: hubArgs, sensors: map[string]*process{}, since: map[*process]int{}}
	l.client, l.one, l.two, l.server, l.hubNet = newNamespace(t), newNamespace(t), newNamespace(t), newNamespace(t), newNamespace(t)
	var err error
	if l.programs, err = programs(); err != nil {
		t.Fatal(err)
	}
	link(l.client, "eth0", "10.1.0.2/24", l.one, "left", "10.1.0.1/24")
	link(l.one, "right", "10.2.0.1/24", l.two, "left", "10.2.0.2/24")
	link(l.two, "right", "10.3.0.1/24", l.server, "eth0", "10.3.0.2/24")
	link(l.one, "mgmt", "10.91.0.2/24", l.hubNet, "one", "10.91.0.1/24")
	link(l.two, "mgmt", "10.92.0.2/24", l.hubNet, "two", "10.92.0.1/24")
	l.hubNet.ip("addr add 10.90.0.1/32 dev lo")
	l.client.ip("route add default via 10.1.0.1")
	l.server.ip("route add default via 10.3.0.1")
	l.one.ip("route add 10.3.0.0/24 via 10.2.0.2")
	l.two.ip("route add 10.1.0.0/24 via 10.2.0.1")
	l.one.ip("route add 10.90.0.1 via 10.91.0.1")
	l.two.ip("route add 10.90.0.1 via 10.92.0.1")
	for _, router := range []*namespace{l.one, l.two} {
		router.run("sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")
	}
	return l
}

// startHub starts the hub, again if it was there.
func (l *lab) startHub() {
	l.t.Helper()
	l.beginHub()
	l.hub.wait("sensors connect")
}

// beginHub is startHub without a wait.
func (l *lab) beginHub() {
	l.t.Helper()
	l.hub = l.start(l.hubNet, "flowdedup-hub", append([]string{"--state", l.hubDir, "--listen", "10.90.0.1:4222",
		"--url", "nats://10.90.0.1:4222", "--http", "none"}, l.hubArgs...)...)
}

// hubEnds waits until the hub has ended by itself, with exit code 1.
func (l *lab) hubEnds() {
	l.t.Helper()
	wait.Until(l.t, "the end of the hub", l.hubEnded)
	if code := l.hub.cmd.ProcessState.ExitCode(); code != 1 {
		l.t.Errorf("the hub ended with %d: %s", code, l.hub.stderr.String())
	}
}

// token returns the token of a site.
func (l *lab) token(site string) string {
	l.t.Helper()
	words := strings.Fields(l.hubNet.run(filepath.Join(l.programs, "flowdedup-hub"), "join-token", site, "--state", l.hubDir))
	return words[len(words)-1] // behind what it says about a server that is not its own
}

// sensor starts the sensor of a site.
func (l *lab) sensor(site string, args ...string) *process {
	l.t.Helper()
	return l.sensorOf(site, l.token(site), args...)
}

// sensorOf is sensor with a token that any hub has made.
func (l *lab) sensorOf(site, token string, args ...string) *process {
	l.t.Helper()
	iface := ""
	for _, s := range sites {
		if s.name == site {
			iface = s.iface
		}
	}
	p := l.start(l.at(site), "flowdedup", append([]string{"live", "-i", iface, "--hub", token, "--site", site,
		"-w", l.output(site), "--json", "--http", "0", "udp", "port", strconv.Itoa(port)}, args...)...)
	p.wait("started")
	l.sensors[site] = p
	if !slices.Contains(args, "--state") { // with it counts go on, except for written files
		l.since[p] = l.sent
	}
	return p
}

// numbers returns values of a sensor's page by their names. Values with labels are
// summed.
func (l *lab) numbers(site string) map[string]int {
	l.t.Helper()
	_, rest, _ := strings.Cut(l.sensors[site].stderr.String(), "url=")
	url, _, _ := strings.Cut(rest, "\n")
	c := l.at(site).command(self(l.t))
	c.Env = append(os.Environ(), "FLOWDEDUP_GET="+strings.TrimSpace(url)+"metrics")
	out, err := c.Output()
	if err != nil {
		l.t.Fatalf("the page of site %s at %q: %v", site, url, err)
	}
	all := map[string]int{}
	for line := range strings.Lines(string(out)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, _, _ = strings.Cut(name, "{")
		if n, err := strconv.ParseFloat(value, 64); err == nil {
			all[name] += int(n)
		}
	}
	return all
}

// judged waits until all sensors have judged and written all sent packets. It returns how
// many packets the hub has not checked.
func (l *lab) judged() (unchecked int) {
	l.t.Helper()
	pages := time.NewTicker(100 * time.Millisecond) // which have another state each second
	defer pages.Stop()
	for site, p := range l.sensors {
		var all map[string]int
		since, fresh := l.since[p]
		if !wait.For(func() bool {
			all = l.numbers(site)
			packets := all["flowdedup_packets_total"]
			if packets == l.sent-since && (!fresh || packets == all["flowdedup_output_packets_total"]+all["flowdedup_duplicates_total"]) {
				return true
			}
			<-pages.C
			return false
		}) {
			l.t.Fatalf("site %s has not judged %d packets: %v", site, l.sent-since, all)
		}
		unchecked += all["flowdedup_hub_unchecked_packets_total"]
	}
	return unchecked
}

// round is packets that were sent together, and which the hub has checked, all of them.
type round struct{ from, to int }

// round sends packets, and reports whether the hub has checked all of them.
func (l *lab) round(packets, rate int) (r round, checked bool) {
	l.t.Helper()
	before := l.judged()
	r = round{l.sent, l.sent + packets}
	l.send(packets, rate)
	return r, l.judged() == before
}

// checked sends packets until the hub answers for all of some in time.
func (l *lab) checked() (r round) {
	l.t.Helper()
	wait.Until(l.t, "packets that the hub checks", func() (ok bool) {
		r, ok = l.round(2000, 1000)
		return ok
	})
	return r
}

func (l *lab) output(site string) string { return filepath.Join(l.dir, site+".pcapng") }

// send sends datagrams of the next numbers along the path.
func (l *lab) send(packets, rate int) {
	l.t.Helper()
	l.spread(packets, rate, 1)
}

// spread is send to the given number of ports in turn.
func (l *lab) spread(packets, rate, ports int) {
	l.t.Helper()
	from := l.sent
	l.sent += packets
	c := l.client.command(self(l.t))
	c.Env = append(os.Environ(), fmt.Sprintf("FLOWDEDUP_SEND=10.3.0.2:%d", port), fmt.Sprintf("FLOWDEDUP_NUMBERS=%d,%d,%d", from, l.sent, rate), fmt.Sprintf("FLOWDEDUP_PORTS=%d", ports))
	if out, err := c.CombinedOutput(); err != nil {
		l.t.Fatalf("%v: %s", err, out)
	}
}

// summary is a sensor's final summary.
type summary struct {
	PacketsIn  int `json:"packets_in"`
	PacketsOut int `json:"packets_out"`
	HubCopies  int `json:"hub_duplicates"`
	Unchecked  int `json:"unchecked"`
	Interfaces []struct {
		Dropped int `json:"dropped"`
	} `json:"interfaces"`
}

// stopSensor ends a sensor, and returns its summary and the numbers that it kept.
func (l *lab) stopSensor(site string) (s summary, numbers []int) {
	l.t.Helper()
	p := l.sensors[site]
	text := p.stop()
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		l.t.Fatalf("site %s: %v: %s %s", site, err, text, p.stderr.String())
	}
	numbers = readNumbers(l.t, l.output(site))
	if len(numbers) != s.PacketsOut {
		l.t.Errorf("site %s: %d packets in its file, %d by its summary", site, len(numbers), s.PacketsOut)
	}
	for _, i := range s.Interfaces {
		if i.Dropped != 0 {
			l.t.Errorf("site %s: the kernel dropped %d packets", site, i.Dropped)
		}
	}
	return s, numbers
}

// readNumbers returns the numbers of the datagrams in a file.
func readNumbers(t *testing.T, name string) (all []int) {
	t.Helper()
	src, err := pcapfile.Open(name, pcapfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	const headers = 14 + 20 + 8
	for b := (capture.Batch{}); ; {
		if err := src.Next(&b); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		for i := range b.Frames {
			all = append(all, int(binary.BigEndian.Uint32(b.Data(i)[headers:])))
		}
	}
}

// status returns the hub's status.
func (l *lab) status() (st hub.Status) {
	l.t.Helper()
	return l.statusAt(l.hubNet, l.hubDir)
}

// statusAt is status of the hub of a folder.
func (l *lab) statusAt(at *namespace, dir string) (st hub.Status) {
	l.t.Helper()
	text := at.run(filepath.Join(l.programs, "flowdedup-hub"), "status", "--json", "--state", dir)
	if err := json.Unmarshal([]byte(text), &st); err != nil {
		l.t.Fatal(err, text)
	}
	return st
}
