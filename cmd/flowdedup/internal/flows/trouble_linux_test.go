// SPDX-License-Identifier: Apache-2.0

package flows_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// udpPacket is a packet of a flow that its source port names, at a time of a capture.
type udpPacket struct {
	at   time.Duration
	port uint16
	size int
}

// udpCapture writes a capture that begins at a time.
func udpCapture(t *testing.T, begin time.Time, packets []udpPacket) string {
	t.Helper()
	file := clitest.NewPcap(1)
	out, options := gopacket.NewSerializeBuffer(), gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	for _, p := range packets {
		head := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolUDP, SrcIP: net.IPv4(10, 0, 0, 1), DstIP: net.IPv4(10, 0, 0, 2)}
		udp := &layers.UDP{SrcPort: layers.UDPPort(p.port), DstPort: 7777}
		if err := udp.SetNetworkLayerForChecksum(head); err != nil {
			t.Fatal(err)
		}
		mac := net.HardwareAddr{2, 0, 0, 0, 0, 1}
		if err := gopacket.SerializeLayers(out, options, &layers.Ethernet{SrcMAC: mac, DstMAC: mac, EthernetType: layers.EthernetTypeIPv4},
			head, udp, gopacket.Payload(make([]byte, p.size))); err != nil {
			t.Fatal(err)
		}
		file.Add(begin.Add(p.at).UnixNano(), out.Bytes())
	}
	return file.Write(t, "flows.pcap")
}

// perPort adds up what was written for each flow of a capture.
func perPort(t *testing.T, text, packets, bytes string) map[uint16]amount {
	t.Helper()
	all := map[uint16]amount{}
	for line := range strings.Lines(text) {
		var r map[string]any
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err, line)
		}
		port := uint16(r["src_port"].(float64))
		a := all[port]
		all[port] = amount{a.Packets + uint64(r[packets].(float64)), a.Bytes + uint64(r[bytes].(float64))}
	}
	return all
}

// TestFlowsTimeouts has nfpcapd cut flows of ten minutes into records by active timeouts of
// a second (which it looks at each ten seconds), a minute and five. Nothing is lost. What
// pauses where one exporter ends a record and others do not is kept in part twice, unless
// the owner is waited for.
func TestFlowsTimeouts(t *testing.T) {
	clitest.Tool(t, "nfpcapd")
	clitest.Tool(t, "nfdump")
	const busy, seldom, burst, rare = 1000, 1001, 1002, 1003
	var packets []udpPacket
	want := map[uint16]amount{}
	for at := time.Duration(0); at < 10*time.Minute; at += 100 * time.Millisecond {
		for _, f := range []struct {
			port        uint16
			each, begin time.Duration
			end         time.Duration
			size        int
		}{
			{busy, 700 * time.Millisecond, 0, 10 * time.Minute, 100}, {seldom, 9 * time.Second, 3 * time.Second, 10 * time.Minute, 200},
			{burst, 100 * time.Millisecond, 3 * time.Minute, 200 * time.Second, 50}, {rare, 45 * time.Second, 7 * time.Second, 10 * time.Minute, 300},
		} {
			if at >= f.begin && at < f.end && (at-f.begin)%f.each == 0 {
				packets = append(packets, udpPacket{at, f.port, f.size})
				a := want[f.port]
				want[f.port] = amount{a.Packets + 1, a.Bytes + 28 + uint64(f.size)}
			}
		}
	}
	capture := udpCapture(t, time.Unix(1_700_000_000, 0), packets)
	exported := func(timeouts string) string {
		dir := t.TempDir()
		if out, err := exec.Command("nfpcapd", "-r", capture, "-w", dir, "-e", timeouts).CombinedOutput(); err != nil {
			t.Fatal(err, string(out))
		}
		out, err := exec.Command("nfdump", "-R", dir, "-o", "json").Output()
		if err != nil {
			t.Fatal(err)
		}
		return tempFile(t, "flows.json", string(out))
	}
	files := []string{exported("1,15"), exported("60,30"), exported("300,60")}
	for _, inputs := range [][]string{files, {files[2], files[0]}, {files[1], files[2]}, {files[1], files[0]}} {
		for _, wait := range []string{"", "--owner-timeout=2m"} {
			out := filepath.Join(t.TempDir(), "out.ndjson")
			s, _ := runFlows(t, cli.ExitDone, append(strings.Fields(wait), append(inputs, "-w", out)...)...)
			got := perPort(t, string(mustReadFile(t, out)), "in_packets", "in_bytes")
			for port, exact := range want {
				pauses := (port == seldom || port == rare) && wait == ""
				if a := got[port]; a != exact && !pauses || a.Packets < exact.Packets || a.Packets > uint64(len(inputs))*exact.Packets {
					t.Errorf("%q: of flow %d %+v are kept, want %+v", wait, port, a, exact)
				}
			}
			if len(got) != len(want) || s.Copies == 0 {
				t.Errorf("%d flows: %+v", len(got), s)
			}
		}
	}
}

// lossy passes what an exporter sends to its address at port 2056 on to port 2055, without
// some messages. It returns how many it dropped, and their records, when all have passed.
func lossy(t *testing.T, address string, drops func(n int) bool) (dropped func() (messages, records uint64)) {
	t.Helper()
	listen := netip.AddrPortFrom(netip.MustParseAddr(address), 2056)
	conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(listen))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 16<<20) }); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Skip("no room for what is sent at once: ", err)
	}
	var messages, records uint64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n, message := 0, make([]byte, 1<<16); ; n++ {
			size, err := conn.Read(message)
			if err != nil || size < 4 {
				return // the end
			}
			if drops(n) {
				messages, records = messages+1, records+uint64(binary.BigEndian.Uint16(message[2:]))
				continue
			}
			if _, err := conn.WriteToUDPAddrPort(message[:size], netip.AddrPortFrom(listen.Addr(), 2055)); err != nil {
				t.Error(err)
			}
		}
	}()
	return func() (uint64, uint64) {
		if _, err := conn.WriteToUDPAddrPort(nil, listen); err != nil {
			t.Fatal(err)
		}
		<-done
		_ = conn.Close()
		return messages, records
	}
}

// TestFlowsLoss loses one message in a hundred of each exporter, other ones of each. Their
// content is reported by another exporter, and counted as lost of this one.
func TestFlowsLoss(t *testing.T) {
	const exporters = 3
	flows := uint64(9000)
	if testing.Short() {
		flows = 3000
	}
	flowNet(t, exporters, "softflowd")
	var packets []udpPacket
	want := map[uint16]amount{}
	for n := range flows {
		p := udpPacket{time.Duration(n) * time.Millisecond, uint16(1000 + n), int(18 + n%500)}
		packets, want[p.port] = append(packets, p), amount{1, 28 + uint64(p.size)}
	}
	capture := udpCapture(t, time.Now().Add(-time.Minute), packets)
	r := startFlows(t)
	records := uint64(0)
	for n := range exporters {
		address := exporterAddress(n + 1)
		dropped := lossy(t, address, func(i int) bool { return i%100 == 30*(n+1) })
		softflow(t, address+":2056", "5", capture, "-m", fmt.Sprint(flows))
		lost, of := dropped()
		if lost == 0 {
			t.Fatalf("%d messages were dropped", lost)
		}
		records += of
	}
	wait.Until(t, "all records", func() bool { return r.total("records") >= exporters*flows-records })
	s := r.stop()
	if s.Lost != records || s.RecordsIn != exporters*flows-records || s.RecordsOut != flows {
		t.Errorf("%d records were dropped: %+v", records, s)
	}
	if got := perPort(t, string(mustReadFile(t, r.out)), "packets", "bytes"); !maps.Equal(got, want) {
		t.Errorf("%d flows are kept, want %d", len(got), len(want))
	}
}

// TestFlowsRestart has exporters start again, with other sequence numbers and another uptime.
// Nothing is lost, and flows that both report stay once. All messages have come before a restart: on
// a busy system the last one may come after the first of another process, which has the number of an
// earlier one.
func TestFlowsRestart(t *testing.T) {
	const exporters = 2
	for version, flows := range map[string][]uint64{"5": {36, 10}, "9": {73, 20}, "10": {73, 20}} {
		t.Run("v"+version, func(t *testing.T) {
			if testing.Short() && version != "9" {
				t.Skip("the others need as long")
			}
			flowNet(t, exporters, "softflowd", "nfcapd", "nfdump", "goflow2")
			to := newCollector(t, true)
			r := startFlows(t, "--to", "udp://"+collectorAddress)
			want := uint64(0)
			for i, name := range []string{"router-in.pcap", "loopback-twice.pcap"} {
				for n := range exporters {
					softflow(t, exporterAddress(n+1)+":2055", version, clitest.Bundled(name))
				}
				want += flows[i]
				wait.Until(t, "all records", func() bool { return r.total("records") >= exporters*want })
			}
			s := r.stop()
			if s.RecordsIn != exporters*want || s.RecordsOut != want || s.Lost+s.Replayed+s.Unchecked+s.Undecodable != 0 {
				t.Errorf("%+v", s)
			}
			to.check(r.written())
		})
	}
}
