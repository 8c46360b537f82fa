// SPDX-License-Identifier: Apache-2.0

package analyzers_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// printed is a line of the manual that runs a program of the project. A line of a pipe may
// begin with the program that makes the capture.
var printed = regexp.MustCompile(`^(\$ )?((sudo|chrt -f \d+|\w+=\S+) )*(flowdedup|flowdedup-hub|(tcpdump|zcat|dumpcap) .*flowdedup) \S`)

// elsewhere are lines that other tests run: those of containers and Kubernetes, and those of
// a NATS server with the hub's keys, TestExternalServer of engine/cluster.
var elsewhere = regexp.MustCompile(`\bnats\b|flowdedup-hub users`)

// atHome maps hosts and folders of the manual to those of the test.
var atHome = strings.NewReplacer(" /data/", " data/", " /srv/", " srv/", " /var/lib/", " lib/", " /etc/flowdedup/", " etc/",
	"//tap1:", "//127.0.0.1:", "//tap2:", "//127.0.0.2:", "//node:", "//127.0.0.1:", "//collector:", "//127.0.0.1:",
	"--join LINE", "--join $(flowdedup-hub hub-token)", "--size 1GiB", "--size 64MiB")

// TestManual runs every line of the README and the manual that runs flowdedup or
// flowdedup-hub, in a network of its own with the interfaces and traffic that the manual has. A live run ends after some packets, a
// run that waits for peers once it is ready. Stand-ins take the place of sudo, of
// programs that are not installed, and of peers.
func TestManual(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: it runs all lines of the manual")
	}
	if os.Geteuid() != 0 {
		t.Skip("skipped: needs root, for a network of its own")
	}
	k := newKitchen(t, "unshare", "ip", "tcpdump", "tcpreplay", "tshark", "jq", "openssl")
	hub := exec.Command("go", "build", "-ldflags=-s", "-o", k.path("programs/hub"), "./cmd/flowdedup-hub")
	hub.Dir = "../../engine/cluster"
	if out, err := hub.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	k.pantry()
	pages, err := filepath.Glob(manual + "/*.md")
	if err != nil {
		t.Fatal(err)
	}
	script, lines := new(strings.Builder), []string{}
	for _, page := range slices.Concat([]string{"../../README.md"}, pages) {
		for _, line := range printedLines(t, page) {
			k.write(fmt.Sprintf("lines/%d", len(lines)), atHome.Replace(strings.TrimPrefix(line, "$ "))+"\n")
			fmt.Fprintf(script, "line %d\n", len(lines))
			lines = append(lines, filepath.Base(page)+": "+line)
		}
	}
	k.write("run.sh", kitchenScript+script.String()+"end\n")
	k.cook("unshare -npmf --kill-child --mount-proc bash run.sh")
	for i, line := range lines {
		code, err := os.ReadFile(k.path(fmt.Sprintf("results/%d", i)))
		if err != nil {
			t.Fatal(line, err)
		}
		// compare finds differences, as it should.
		if got := strings.TrimSpace(string(code)); got != "0" && !(got == "4" && strings.Contains(line, " compare ")) {
			said, _ := os.ReadFile(k.path(fmt.Sprintf("results/%d.err", i)))
			t.Errorf("%s\nexit code %s: %s", line, got, said)
		}
	}
	if t.Logf("%d lines were run", len(lines)); len(lines) < 120 {
		t.Errorf("only %d lines were run", len(lines))
	}
}

// printedLines returns the lines of a page that are to be run.
func printedLines(t *testing.T, page string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(strings.ReplaceAll(string(text), "\\\n", "")) {
		code, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "    ")
		code = strings.TrimSpace(code)
		if ok && printed.MatchString(code) && !elsewhere.MatchString(code) {
			all = append(all, code)
		}
	}
	return all
}

// block returns the block of a page that has a line.
func block(t *testing.T, name, has string) string {
	t.Helper()
	text := page(t, name)
	i := strings.Index(text, "\n    "+has)
	if i < 0 {
		t.Fatalf("%s has no %q", name, has)
	}
	code, rest, _ := strings.Cut(text[i+1:], "\n\n")
	for next, after, _ := strings.Cut(rest, "\n\n"); strings.HasPrefix(next, "    "); next, after, _ = strings.Cut(after, "\n\n") {
		code += "\n\n" + next
	}
	return strings.ReplaceAll(strings.TrimPrefix(code, "    "), "\n    ", "\n") + "\n"
}

// pantry makes the files that the manual reads, and the stand-ins.
func (k *kitchen) pantry() {
	for from, names := range map[string]string{
		"router-ordered.pcapng":  "span.pcap all.pcapng tenants.pcapng other.pcap in.pcap capture.pcapng monday.pcap tuesday.pcap calls.pcap testdata/pcaps/router-ordered.pcapng",
		"router-in.pcap":         "tap-a.pcap inside.pcap sent.pcap roof.pcap core.pcap a.pcap eth0.pcap pppoe.pcap",
		"router-out.pcap":        "tap-b.pcap outside.pcap tapped.pcap lab.pcap edge.pcap b.pcap",
		"mirror-vxlan.pcap":      "fabric.pcap",
		"router-any-sll.pcap.gz": "big.pcap.gz",
	} {
		content, err := os.ReadFile(filepath.Join(capturesDir, from))
		if err != nil {
			k.t.Fatal(err)
		}
		for name := range strings.FieldsSeq(names) {
			k.write("pantry/"+name, string(content))
		}
	}
	for _, name := range []string{"span.pcapng", "mirror.pcap"} {
		content, err := os.ReadFile(k.path(name))
		if err != nil {
			k.t.Fatal(err)
		}
		k.write("pantry/"+name, string(content))
	}
	k.cook("go -C " + absolute(k.t, "../..") + " run ./bench/contest make -packets 1000 -o $PWD/made")
	k.cook("for name in substation.pcapng lan-a.pcap lan-b.pcap; do cp made/prp.pcap pantry/$name; done; mkdir pantry/rot; cp made/prp.pcap pantry/rot")
	for name, text := range flowFiles() {
		k.write("pantry/"+name, text)
	}
	k.write("pantry/edges.txt", block(k.t, "flows.md", "# exporter "))
	k.write("pantry/etc/live.toml", block(k.t, "scripting.md", `window = "10ms"`))
	for name, text := range standIns {
		k.write("programs/"+name, "#!/bin/bash\n"+text)
	}
	k.cook("chmod 755 .. . programs/*; chmod 777 pantry") // for --user nobody, too
}

// flowFiles are records of one flow at two points, by the names of their files.
func flowFiles() map[string]string {
	const (
		nfdump = `{"type":"FLOW","first":"2026-11-21T06:09:04.828","last":"2026-11-21T06:09:05.829","in_packets":6,"in_bytes":960,` +
			`"proto":6,"src_port":40071,"dst_port":443,"src4_addr":"192.0.2.1","dst4_addr":"198.51.100.7","ip4_router":"203.0.113.%d"}` + "\n"
		dated = "SrcIP,DstIP,When\n192.0.2.1,198.51.100.7,21/11/2026 06:09:04 PM\n"
	)
	files := map[string]string{"a.csv": dated, "b.csv": dated}
	for end, name := range []string{"a", "b"} {
		files[name+".json"] = fmt.Sprintf(nfdump, end)
		files[fmt.Sprintf("r%d.json", end+1)] = files[name+".json"]
		record := cloudRecord(end, 1)
		files["netobserv-"+name+".json"], files["hubble-"+name+".json"] = record["netobserv"]+"\n", record["hubble"]+"\n"
		files["aws-"+name+".log"] = awsHeader + record["aws"] + "\n"
		files["gcp.json"] += record["gcp"] + "\n"
	}
	return files
}

// readerStandIn is a program that reads a capture from standard input. A run that waits for
// peers, and has none, sends a header alone.
const readerStandIn = `cat > read
tcpdump -n -r read > /dev/null 2> read.log || { cat read.log >&2; grep -q 'no Interface Description Blocks' read.log; }`

// standIns are scripts in front of PATH. lasting runs a program that waits for peers,
// and ends it once it says that it is ready, or has a socket.
var standIns = map[string]string{
	"sudo":      `exec "$@"`,
	"zeek":      readerStandIn,
	"wireshark": readerStandIn,
	"dumpcap":   `exec cat span.pcapng`,
	"softflowd": readerStandIn,
	"lasting": `exec 3<&0
: > lasting.log
"$@" <&3 2> >(tee lasting.log >&2) &
case " $* " in
*" live "*|*" --listen "*|*/hub*) ready() { grep -qE ' started | listening |status at' lasting.log; } ;;
*) ready() { [ -n "$(find /proc/$!/fd -lname 'socket:*' 2>/dev/null)" ]; } ;;
esac
until ready; do kill -0 $! 2>/dev/null || break; done
kill -TERM $! 2>/dev/null
wait $!
code=$?
[ $code = 143 ] || exit $code`,
	"flowdedup": `case " $* " in
*://*|*" --listen "*|*" inspect -i "*|*" tcp port "*) case " $* " in
	*" -i eth"*" -w "*://*) ;;
	*" tcp://127"*) [[ " $* " = *" live "* ]] || exec "$FLOWDEDUP_REAL" "$@"; exec lasting "$FLOWDEDUP_REAL" "$@" ;;
	*) exec lasting "$FLOWDEDUP_REAL" "$@" ;;
	esac ;;
esac
[ "$1" != live ] || export FLOWDEDUP_COUNT=20
exec "$FLOWDEDUP_REAL" "$@"`,
	"flowdedup-hub": `case "$1" in
--*) export FLOWDEDUP_HUB_STATE=$(mktemp -d) FLOWDEDUP_HUB_HTTP=127.0.0.1:9555
	[ "$1" = --join ] || export FLOWDEDUP_HUB_LISTEN=127.0.0.1:4333
	exec lasting "$(command -v hub)" "$@" ;;
esac
exec hub "$@"`,
}

// kitchenScript has the functions that the lines run by.
const kitchenScript = `
here=$PWD
export PATH=$here/programs:$PATH FLOWDEDUP_REAL=$(command -v flowdedup) KEY=$(openssl rand -hex 32)
export FLOWDEDUP_HUB_STATE=$here/hub-state HOME=$here
mkdir -p results
ip link set lo up
for name in eth0 eth1 eth2 tap0 tap1 mon0 mon1; do
	ip link add $name type veth peer name wire-$name
	ip link set $name up
	ip link set wire-$name up
done
tcpdump -r span.pcapng -w replay.pcap 2> /dev/null
for name in eth0 eth1 eth2 tap0 tap1; do
	for capture in replay.pcap mirror.pcap; do
		while :; do tcpreplay -q --pps=300 -i wire-$name $capture; done > replay-$name.log 2>&1 &
	done
done
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=node -addext subjectAltName=IP:127.0.0.1 \
	-keyout pantry/node.key -out pantry/node.pem 2> /dev/null
cp pantry/node.pem pantry/site.pem; cp pantry/node.pem pantry/a.pem; cp pantry/node.key pantry/a.key
hub --listen 127.0.0.1:4222 --http 127.0.0.1:9418 > hub.log 2>&1 &
until grep -q . "$FLOWDEDUP_HUB_STATE"/* 2> /dev/null && hub status > /dev/null 2>&1; do kill -0 $! || exit 1; done

cd pantry
mkdir -p data srv/roof srv/lab lib/counts lib/flowdedup

# peers are what a line connects to. 0A is a socket that listens: an earlier line may have left
# one that only waits for its time to run out.
peers() {
	case "$(cat "$here/lines/$1")" in
	*"inspect tcp://"*) "$FLOWDEDUP_REAL" dedup --quiet span.pcapng -w tcp-listen://127.0.0.1:57012 & ;;
	*"-w tcp://"*) "$FLOWDEDUP_REAL" dedup --quiet tcp-listen://127.0.0.1:57012 --tls-cert node.pem --tls-key node.key --tls-ca site.pem -w peer.pcapng & ;;
	*) return ;;
	esac
	until grep -qE ':DEB4 [0-9A-F:]+ 0A ' /proc/net/tcp /proc/net/tcp6; do kill -0 $! || break; done
}

line() {
	peers $1
	case "$(cat "$here/lines/$1")" in
	*"srv/roof/"*|*" srv/*"*) FLOWDEDUP_SENSOR=roof "$FLOWDEDUP_REAL" distinct --quiet --key $KEY --of src,flow --save srv/roof/1.counts roof.pcap > /dev/null
		FLOWDEDUP_SENSOR=lab "$FLOWDEDUP_REAL" distinct --quiet --key $KEY --of src,flow --save srv/lab/1.counts lab.pcap > /dev/null ;;
	esac
	timeout -k 10 300 bash -o pipefail "$here/lines/$1" < span.pcapng > "$here/results/$1.out" 2> "$here/results/$1.err"
	echo $? > "$here/results/$1"
}

end() { exit 0; }
`
