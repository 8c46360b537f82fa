// SPDX-License-Identifier: Apache-2.0

package flows_test

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	benchlab "github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// longMessage returns an IPFIX message with a template and records of flows of one host,
// longer than a packet of the network.
func longMessage(host byte, now time.Time) []byte {
	const records, template, record = 100, 16 + 4 + 4 + 9*4, 45
	m := ipfixMessage(uint32(host), now)
	one := m[template+4:]
	for n := range records {
		if n > 0 {
			m = append(m, one[:record]...)
		}
		flow := m[len(m)-record:]
		flow[2], flow[3] = host, byte(n)
	}
	binary.BigEndian.PutUint16(m[2:], uint16(len(m)))
	binary.BigEndian.PutUint16(m[template+2:], uint16(len(m)-template))
	return m
}

// sniffer is tcpdump, which says whether checksums are right.
type sniffer struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

func startSniffer(t *testing.T, name, filter string) *sniffer {
	t.Helper()
	cmd := exec.Command("tcpdump", "-i", name, "-n", "-vv", "-l", "--immediate-mode", filter)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	ready, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	for s := bufio.NewScanner(ready); ; {
		if !s.Scan() {
			t.Fatal("tcpdump does not start")
		}
		if strings.Contains(s.Text(), "listening on") {
			return &sniffer{cmd, bufio.NewScanner(out)}
		}
	}
}

// all ends tcpdump when it has said some words, and returns all that it said.
func (s *sniffer) all(t *testing.T, words string) (text string) {
	t.Helper()
	defer time.AfterFunc(wait.Timeout, func() { _ = s.cmd.Process.Kill() }).Stop()
	for !strings.Contains(text, words) {
		if !s.lines.Scan() {
			t.Fatalf("tcpdump does not say %q:\n%s", words, text)
		}
		text += s.lines.Text() + "\n"
	}
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for s.lines.Scan() {
		text += s.lines.Text() + "\n"
	}
	_ = s.cmd.Wait() // by the signal
	return text
}

// TestFlowsSpoof relays the messages of exporters with their addresses: nfcapd distinguishes
// the exporters, also where messages are longer than packets of the network.
func TestFlowsSpoof(t *testing.T) {
	const exporters, records = 3, 100
	for family, c := range map[string]struct{ collector, exporter string }{
		"IPv4": {"127.0.0.1", "10.99.0.%d"}, "IPv6": {"::1", "fd99::%d"},
	} {
		t.Run(family, func(t *testing.T) {
			if testing.Short() && family != "IPv6" {
				t.Skip("capture/records/relay has a shorter test of it")
			}
			flowNet(t, 0, "nfcapd", "nfdump", "tcpdump")
			for _, which := range []string{"all", "lo"} {
				if err := os.WriteFile("/proc/sys/net/ipv6/conf/"+which+"/disable_ipv6", []byte("0"), 0); err != nil {
					t.Skip(err)
				}
			}
			clitest.IP(t, "link set lo mtu 1500")
			bits := map[string]string{"IPv4": "/32", "IPv6": "/128 nodad"}[family]
			for n := range exporters {
				clitest.IP(t, "addr add "+fmt.Sprintf(c.exporter, n+1)+bits+" dev lo")
			}
			dir := t.TempDir()
			nfcapd := startNfcapd(t, dir, c.collector)
			dump := startSniffer(t, "lo", "udp dst port 9995")
			r := startFlows(t, "--to", "udp://"+net.JoinHostPort(c.collector, "9995"), "--spoof")
			var addresses []string
			for n := range exporters {
				address := fmt.Sprintf(c.exporter, n+1)
				conn, err := net.Dial("udp", net.JoinHostPort(address, "2055")) // from the same address
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				now := time.Now()
				for _, message := range [][]byte{ipfixMessage(uint32(9), now), longMessage(byte(n+1), now)} {
					if _, err := conn.Write(message); err != nil {
						t.Fatal(err)
					}
				}
				addresses = append(addresses, address)
			}
			wait.Until(t, "all records", func() bool { return r.total("records") == exporters*(records+1) })
			s := r.stop()
			if s.Copies != exporters-1 || len(s.Points) != 2*exporters || s.Relayed.Failed+s.Relayed.Own != 0 {
				t.Errorf("%+v, %+v", s, s.Relayed)
			}
			nfcapdKeeps(t, nfcapd, dir)
			text := dump.all(t, "udp sum ok")
			if strings.Contains(text, "bad udp cksum") {
				t.Errorf("wrong checksums:\n%s", text)
			}
			out, err := exec.Command("nfdump", "-R", dir, "-q", "-6", "-o", "fmt:%ra").Output()
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]int{}
			for _, address := range strings.Fields(string(out)) {
				got[address]++
			}
			// One of them, whichever was read first, reported the common flow.
			common := 0
			for _, address := range addresses {
				common += got[address] - records
			}
			if len(got) != exporters || common != 1 || slices.Min(slices.Collect(maps.Values(got))) != records {
				t.Errorf("records of %v, want %d each and one more", got, records)
			}
		})
	}
}

// TestFlowsSpoofRights names the missing right to users who may not send from other addresses.
func TestFlowsSpoofRights(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to give it up")
	}
	const nobody = 65534
	cmd := clitest.Program(t, "flows", "--listen", "127.0.0.1:"+benchlab.FreePort(t), "--to", "udp://127.0.0.1:9", "--spoof")
	cmd.Path = clitest.CopyProgram(t)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if code := clitest.ExitCode(t, err); code != cli.ExitFailed || !strings.Contains(string(out), "flowdedup: udp://127.0.0.1:9: not permitted: the exporter's address needs CAP_NET_RAW") {
		t.Errorf("exit code %d: %s", code, out)
	}
}
