// SPDX-License-Identifier: Apache-2.0

package flows_test

import (
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// pmacct has pmacctd export a bundled capture from the address of an exporter with a
// plugin, and returns what waits for its end.
func pmacct(t *testing.T, exporter int, name, plugin string, keys ...string) (await func()) {
	t.Helper()
	from := exporterAddress(exporter)
	config := []string{
		"daemonize: false", "pcap_savefile: " + clitest.Bundled(name), "plugins: " + plugin + "[x]",
		"plugin_buffer_size: 2048", "plugin_pipe_size: 2048000", // so that the last packets come, too
		plugin + "_receiver[x]: " + from + ":2055", plugin + "_source_ip[x]: " + from,
	}
	file := tempFile(t, "pmacctd.conf", strings.Join(append(config, keys...), "\n")+"\n")
	cmd := exec.Command("pmacctd", "-f", file)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }) // its plugin may be slower to end
	return func() {
		t.Helper()
		// Its plugin may end first at the end of the file, which it takes for a failure.
		if err := cmd.Wait(); err != nil && !strings.Contains(out.String(), "Shutting down on user request") {
			t.Fatal(err, out.String())
		}
	}
}

// TestFlowsPmacct relays the exports of three pmacctd with nfprobe on one path: the records of
// one stay, and cover every packet.
func TestFlowsPmacct(t *testing.T) {
	const exporters = 3
	v4, all := trafficOf(t, clitest.FramesOf(t, clitest.Bundled("router-in.pcap")))
	type export struct {
		version string
		want    amount
	}
	clitest.AtOnce(t, map[string]export{"v5": {"5", v4}, "v9": {"9", all}, "IPFIX": {"10", all}}, func(t *testing.T, c export) {
		flowNet(t, exporters, "pmacctd", "nfcapd", "nfdump", "goflow2")
		to := newCollector(t, true)
		r := startFlows(t, "--to", "udp://"+collectorAddress)
		var await [exporters]func()
		for n := range exporters {
			await[n] = pmacct(t, n+1, "router-in.pcap", "nfprobe", "nfprobe_version[x]: "+c.version,
				"aggregate[x]: src_host, dst_host, src_port, dst_port, proto, tos")
		}
		for _, w := range await {
			w()
		}
		wait.Until(t, "records of every packet", func() bool { return r.total("bytes") >= exporters*c.want.Bytes })
		s := r.stop()
		if s.RecordsIn != exporters*s.RecordsOut || s.RecordsOut == 0 || s.Unchecked+s.Undecodable+s.Lost+s.Sampled != 0 || len(s.Points) != exporters {
			t.Errorf("%+v", s)
		}
		for _, p := range s.Points {
			if (amount{p.Packets, p.Bytes}) != c.want {
				t.Errorf("%s tells of %d packets and %d bytes, not %+v", p.Name, p.Packets, p.Bytes, c.want)
			}
		}
		if kept := r.amount(); kept != c.want {
			t.Errorf("%+v are kept, want %+v", kept, c.want)
		}
		to.check(r.written())
	})
}

// TestFlowsSamples takes the samples of three sfprobe. Of sampled packets there is a
// warning, and a boundary keeps those of the edge. The end of what sfprobe samples is lost
// with it, and other packets at every try.
func TestFlowsSamples(t *testing.T) {
	const exporters = 3
	type sampling struct {
		rate     int
		boundary bool
	}
	clitest.AtOnce(t, map[string]sampling{"all packets": {1, false}, "sampled": {10, false}, "boundary": {10, true}}, func(t *testing.T, c sampling) {
		flowNet(t, exporters, "pmacctd", "goflow2")
		to := newCollector(t, false)
		args := []string{"--to", "udp://" + collectorAddress}
		if c.boundary {
			sides := "# the first is the edge\n"
			for n := range exporters {
				sides += fmt.Sprintf("%s %d %s\n", exporterAddress(n+1), n+7, []string{"external", "internal", "internal"}[n])
				sides += fmt.Sprintf("%s 0 internal\n", exporterAddress(n+1)) // to nowhere else
			}
			args = append(args, "--boundary", tempFile(t, "edges", sides))
		}
		r := startFlows(t, args...)
		var await [exporters]func()
		for n := range exporters {
			await[n] = pmacct(t, n+1, "router-in.pcap", "sfprobe", fmt.Sprintf("sampling_rate[x]: %d", c.rate),
				"sfprobe_agentip[x]: "+exporterAddress(n+1), fmt.Sprintf("sfprobe_ifindex[x]: %d", n+7), "sfprobe_direction[x]: in")
		}
		for _, w := range await {
			w()
		}
		enough := uint64(exporters * 240 / c.rate) // more than two have
		wait.Until(t, "samples of all", func() bool { return r.total("records") >= enough })
		s := r.stop()
		to.check(r.written())
		if len(s.Points) != exporters || s.Undecodable+s.Unchecked+s.Lost != 0 || s.RecordsIn == 0 {
			t.Errorf("%+v", s)
		}
		if warned := strings.Contains(r.Stderr.String(), "use --boundary FILE"); warned != (c.rate > 1 && !c.boundary) {
			t.Errorf("warned: %v\n%s", warned, r.Stderr.String())
		}
		if sampled := map[bool]uint64{true: s.RecordsIn}[c.rate > 1]; s.Sampled != sampled {
			t.Errorf("%d records of %d are sampled", s.Sampled, s.RecordsIn)
		}
		for _, p := range s.Points {
			if edge := p.Name == exporterAddress(1); c.boundary && (p.Copies != 0) == edge || c.boundary && !edge && p.Copies != p.Records {
				t.Errorf("%+v", p)
			}
		}
	})
}
