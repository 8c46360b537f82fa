// SPDX-License-Identifier: Apache-2.0

package analyzers_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// kept returns the lines of JSON that a recipe wrote.
func (k *kitchen) kept(name string) (all []map[string]any) {
	k.t.Helper()
	text, err := os.ReadFile(k.path(name))
	if err != nil {
		k.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var one map[string]any
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			k.t.Fatal(err, line)
		}
		all = append(all, one)
	}
	return all
}

// awsHeader is the first line of a file of AWS.
const awsHeader = "version account-id interface-id srcaddr dstaddr srcport dstport protocol packets bytes start end action log-status\n"

// cloudRecord returns a record of connection n by its source (0) or destination (1), in
// the form that each recipe reads.
func cloudRecord(end, n int) map[string]string {
	const begin = 1_700_000_000
	at, port := time.Unix(begin+100*int64(n), 0).UTC(), 40000+n
	stamp := at.Format("2006-01-02T15:04:05")
	return map[string]string{
		"netobserv": fmt.Sprintf(`{"AgentIP":"192.0.2.%d","SrcAddr":"10.0.0.1","DstAddr":"10.0.0.2","SrcPort":%d,"DstPort":443,"Proto":6,"Bytes":960,"Packets":6,"TimeFlowStartMs":%d,"TimeFlowEndMs":%d,"TimeReceived":%d,"IfDirection":%d}`,
			end+1, port, at.UnixMilli()+100, at.UnixMilli()+900, at.Unix()+1, 1-end),
		"hubble": fmt.Sprintf(`{"flow":{"time":"%s.%d00Z","verdict":"FORWARDED","IP":{"source":"10.0.0.1","destination":"10.0.0.2","ipVersion":"IPv4"},"l4":{"TCP":{"source_port":%d,"destination_port":443,"flags":{"SYN":true}}},"node_name":"node-%d","Type":"L3_L4"},"node_name":"node-%d","time":"%s.100Z"}`,
			stamp, 1+end, port, end, end, stamp),
		"gcp": fmt.Sprintf(`{"insertId":"%d%d","jsonPayload":{"bytes_sent":"960","packets_sent":"6","connection":{"src_ip":"10.0.0.1","src_port":%d,"dest_ip":"10.0.0.2","dest_port":443,"protocol":6},"reporter":"%s","start_time":"%s.1Z","end_time":"%s.9Z"}}`,
			end, n, port, []string{"SRC", "DEST"}[end], stamp, stamp),
		"aws": fmt.Sprintf("2 123456789010 eni-%d 10.0.0.1 10.0.0.2 %d 443 6 6 960 %d %d ACCEPT OK", end, port, at.Unix(), at.Unix()+1),
	}
}

// TestCloudFlows runs the recipes for flow records of clouds and of Kubernetes. Both ends
// report eight of ten connections, and only one end reports each of the others.
func TestCloudFlows(t *testing.T) {
	k := newKitchen(t)
	const connections = 10
	files := map[string]string{}
	for _, name := range []string{"aws-a.log", "aws-b.log"} {
		files[name] = awsHeader
	}
	for n := range connections {
		for end, letter := range []string{"a", "b"} {
			if n == 0 && end == 1 || n == 1 && end == 0 {
				continue
			}
			one := cloudRecord(end, n)
			files["gcp.json"] += one["gcp"] + "\n"
			files["aws-"+letter+".log"] += one["aws"] + "\n"
			files["netobserv-"+letter+".json"] += one["netobserv"] + "\n"
			files["hubble-"+letter+".json"] += one["hubble"] + "\n"
		}
	}
	for name, content := range files {
		k.write(name, content)
	}
	k.cook(blocks(t, "## Flow records of clouds and Kubernetes")[0])
	for _, name := range []string{"netobserv", "hubble", "gcp", "aws"} {
		kept, twice := k.kept(name+".ndjson"), 0
		for _, one := range kept {
			if seen, ok := one["seen_by"].([]any); ok && len(seen) == 2 {
				twice++
			}
		}
		if len(kept) != connections || twice != connections-2 {
			t.Errorf("%s: %d records are kept, %d of them of both ends", name, len(kept), twice)
		}
	}
}

// relayed is a script that runs a recipe: a collector at port 9995 that one of its lines
// starts, and flowdedup in front of it. Two exporters report the same capture. It ends
// flowdedup when everything is sent, and the collector when it has read everything.
const relayed = `
ip link set lo up
ip addr add 10.99.0.1/32 dev lo
ip addr add 10.99.0.2/32 dev lo
mkdir -p flows
touch log
%s
until cat /proc/net/udp /proc/net/udp6 | grep -q ':270B '; do :; done
%s --json > summary 2> log &
run=$!
until grep -q listening log; do kill -0 $run; done
for n in 1 2; do softflowd -d -c none -p pid$n -v 9 -n 10.99.0.$n:2055 -r span.pcapng > softflowd.log 2>&1; done
kill -INT $run
wait $run || [ $? = 130 ]
while cat /proc/net/udp /proc/net/udp6 | awk '$2 ~ /:270B$/ && $5 !~ /:00000000$/ {full=1} END {exit !full}'; do :; done
%s
`

// relay runs a recipe of a collector, and returns the number of records that flowdedup
// sent on, and the output of the script's end.
func relay(t *testing.T, number int, begin, end string, programs ...string) (kept int, printed string) {
	t.Helper()
	k := newKitchen(t, append(programs, "softflowd", "unshare", "ip", "awk")...)
	if err := exec.Command("unshare", "-rn", "true").Run(); err != nil {
		t.Skip("no network of its own: ", err)
	}
	recipe := blocks(t, "## In front of flow collectors")
	k.write("run.sh", fmt.Sprintf(relayed, strings.Split(recipe[1], "\n")[number]+begin, recipe[0], end))
	printed = k.cook("unshare -rnpf --kill-child --mount-proc bash -e run.sh")
	text, err := os.ReadFile(k.path("summary"))
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		In      int `json:"records_in"`
		Out     int `json:"records_out"`
		Dropped int
		Points  []struct{ Records int }
	}
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err, string(text))
	}
	if len(s.Points) != 2 || s.Points[0].Records != s.Points[1].Records || s.In != 2*s.Out || s.Dropped != 0 || s.Out == 0 {
		t.Errorf("%+v", s)
	}
	return s.Out, printed
}

// TestCollectors runs the recipes in front of collectors: when two exporters report the
// same flows, collectors get one exporter's.
func TestCollectors(t *testing.T) {
	t.Run("nfcapd", func(t *testing.T) {
		kept, printed := relay(t, 0, " 2> nfcapd.log", `
kill "$(cat nfcapd.pid)"
while [ -e nfcapd.pid ]; do :; done
nfdump -R flows -q -N -o fmt:%sa,%da,%sp,%dp,%pr,%pkt,%byt`, "nfcapd", "nfdump")
		if n := strings.Count(printed, "\n"); n != kept {
			t.Errorf("nfcapd has %d flows, %d were sent:\n%s", n, kept, printed)
		}
	})
	t.Run("goflow2", func(t *testing.T) {
		kept, printed := relay(t, 1, " > goflow2.log 2>&1 &", fmt.Sprintf(`
until [ "$(grep -c src_addr flows.json)" -ge %d ]; do kill -0 %%1; done
cat flows.json`, 1), "goflow2")
		if n := strings.Count(printed, "src_addr"); n != kept {
			t.Errorf("goflow2 has %d flows, %d were sent:\n%s", n, kept, printed)
		}
	})
	t.Run("pmacct", func(t *testing.T) {
		// The plugin that writes is ready after the socket is: if it ends before, it
		// writes nothing.
		kept, printed := relay(t, 2, ` > nfacctd.log 2>&1 &
until grep -q 'print ): JSON: setting' nfacctd.log; do kill -0 %1; done`, `
kill -INT %1
wait %1 || true
cat flows-*.json`, "nfacctd")
		n := 0
		for line := range strings.Lines(printed) {
			var one struct{ Flows int }
			if json.Unmarshal([]byte(line), &one) == nil {
				n += one.Flows
			}
		}
		if n != kept {
			t.Errorf("nfacctd has %d flows, %d were sent:\n%s", n, kept, printed)
		}
	})
}
