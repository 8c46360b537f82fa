// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// captures is the folder of the captures that come with the project.
const captures = "../../../../testdata/pcaps"

// root makes a root of Debian with nothing but what every Debian has, and these packages.
func root(t *testing.T, include ...string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	if _, err := exec.LookPath("debootstrap"); err != nil {
		t.Skip("needs debootstrap")
	}
	dir := filepath.Join(t.TempDir(), "root")
	args := []string{"--variant=minbase", "stable", dir}
	if len(include) > 0 {
		args = slices.Insert(args, 1, "--include="+strings.Join(include, ","))
	}
	command(t, "debootstrap", args...)
	return dir
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// asUser runs a shell command in a root, as a user without rights.
func asUser(t *testing.T, root, line string) string {
	t.Helper()
	return command(t, "chroot", "--userspec=65534:65534", root, "/bin/sh", "-c", "cd /data && export HOME=/data && "+line)
}

// recipes runs what the README says, where a package was installed.
func recipes(t *testing.T, root, program string) {
	t.Helper()
	data := filepath.Join(root, "data")
	if err := os.MkdirAll(data, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(data, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"router-ordered.pcapng", "router-in.pcap", "router-out.pcap"} {
		copyFile(t, filepath.Join(captures, name), filepath.Join(data, name))
	}
	for _, c := range []struct{ line, has string }{
		{" version", "flowdedup "},
		{" dedup router-ordered.pcapng -w clean.pcapng --duplicates copies.pcapng", "905 duplicates removed"},
		{" verify router-ordered.pcapng clean.pcapng copies.pcapng", "All 1,224 packets are there"},
		{" distinct --of src,dst,flow router-ordered.pcapng", "flow"},
		{" inspect router-ordered.pcapng", "copies"},
		{" compare router-in.pcap router-out.pcap || test $? = 4", "both"},
		{" plan --rate 1M --window 1ms", "timed"},
	} {
		if out := asUser(t, root, program+c.line); !strings.Contains(out, c.has) {
			t.Errorf("%s: %s", c.line, out)
		}
	}
}

// TestDebian installs the package in a clean root, runs it, and removes it.
func TestDebian(t *testing.T) {
	deb, dir := one(t, made(t), "flowdedup_*_amd64.deb"), root(t)
	copyFile(t, deb, filepath.Join(dir, "p.deb"))
	before := command(t, "find", dir+"/etc", dir+"/usr", "-not", "-path", "*/dpkg/*")
	command(t, "chroot", dir, "dpkg", "-i", "/p.deb")
	recipes(t, dir, "flowdedup")
	for _, name := range []string{
		"/usr/share/man/man1/flowdedup-live.1.gz", "/usr/share/bash-completion/completions/flowdedup",
		"/usr/lib/systemd/system/flowdedup@.service", "/usr/lib/systemd/system/flowdedup-flows@.service",
		"/usr/share/doc/flowdedup/examples/flows-edge.conf", "/usr/lib/x86_64-linux-gnu/wireshark/extcap/flowdedup-extcap",
	} {
		if _, err := os.Stat(dir + name); err != nil {
			t.Error(err)
		}
	}
	if out := asUser(t, dir, "/usr/lib/x86_64-linux-gnu/wireshark/extcap/flowdedup-extcap --extcap-interfaces"); !strings.Contains(out, "flowdedup-lo") {
		t.Errorf("extcap: %s", out)
	}
	command(t, "chroot", dir, "dpkg", "-i", "/p.deb") // an update
	command(t, "chroot", dir, "dpkg", "--purge", "flowdedup")
	if after := command(t, "find", dir+"/etc", dir+"/usr", "-not", "-path", "*/dpkg/*"); after != before {
		t.Error("the package leaves files behind")
	}
}

// TestHub installs the hub's package in a clean root, makes a token as root and as a plain
// user, and removes it.
func TestHub(t *testing.T) {
	deb, dir := one(t, made(t), "flowdedup-hub_*_amd64.deb"), root(t)
	copyFile(t, deb, filepath.Join(dir, "p.deb"))
	before := command(t, "find", dir+"/etc", dir+"/usr", "-not", "-path", "*/dpkg/*")
	command(t, "chroot", dir, "dpkg", "-i", "/p.deb")
	for _, name := range []string{
		"/usr/share/man/man1/flowdedup-hub.1.gz", "/usr/share/man/man7/flowdedup-hub.7.gz", "/usr/share/bash-completion/completions/flowdedup-hub",
		"/usr/lib/systemd/system/flowdedup-hub.service", "/usr/share/doc/flowdedup-hub/examples/flowdedup-hub.conf",
		"/usr/share/doc/flowdedup-hub/examples/hub-grafana-dashboard.json",
	} {
		if _, err := os.Stat(dir + name); err != nil {
			t.Error(err)
		}
	}
	if out := command(t, "chroot", dir, "flowdedup-hub", "join-token", "berlin"); strings.Count(out, "\n") != 1 {
		t.Errorf("join-token: %s", out)
	}
	command(t, "chroot", dir, "dpkg", "-i", "/p.deb") // an update
	if _, err := os.Stat(dir + "/var/lib/flowdedup-hub/hub.json"); err != nil {
		t.Errorf("after the update: %v", err)
	}
	command(t, "chroot", dir, "dpkg", "--purge", "flowdedup-hub")
	if after := command(t, "find", dir+"/etc", dir+"/usr", "-not", "-path", "*/dpkg/*"); after != before {
		t.Error("the package leaves files behind")
	}
	if _, err := os.Stat(dir + "/var/lib/flowdedup-hub"); err == nil {
		t.Error("the state is still there after a purge")
	}
}

// TestRPM installs the other package, without the database of a distribution.
func TestRPM(t *testing.T) {
	rpm := one(t, made(t), "flowdedup-[0-9]*.x86_64.rpm")
	if _, err := exec.LookPath("rpm"); err != nil {
		t.Skip("needs rpm")
	}
	dir := root(t)
	command(t, "rpm", "--root", dir, "--nodeps", "-i", rpm)
	recipes(t, dir, "flowdedup")
	command(t, "rpm", "--root", dir, "--nodeps", "-e", "flowdedup")
	if _, err := os.Stat(dir + "/usr/bin/flowdedup"); err == nil {
		t.Error("the program is still there")
	}
}

// TestRoot installs the package next to a service manager, shells and suggested packages, and
// tries its files for them.
func TestRoot(t *testing.T) {
	deb := one(t, made(t), "flowdedup_*_amd64.deb")
	dir := root(t, "systemd", "systemd-sysv", "dbus", "iproute2", "bash-completion", "zsh", "fish", "tcpdump")
	copyFile(t, deb, filepath.Join(dir, "p.deb"))
	command(t, "chroot", dir, "dpkg", "-i", "/p.deb")
	t.Run("manual", func(t *testing.T) { manual(t, dir) })
	t.Run("completion", func(t *testing.T) { completion(t, dir) })
	t.Run("unit", func(t *testing.T) { unit(t, dir) }) // removes the package
}

// unit runs testdata/unit in the root, booted by its systemd.
func unit(t *testing.T, root string) {
	if _, err := exec.LookPath("systemd-nspawn"); err != nil {
		t.Skip("needs systemd-nspawn, so the unit was not started (Debian: systemd-container)")
	}
	script(t, "unit", filepath.Join(root, "usr/local/bin/unit"))
	service := "[Unit]\nWants=dbus.socket\nAfter=dbus.socket\n[Service]\nExecStart=/usr/local/bin/unit\nStandardOutput=file:/unit.log\nStandardError=inherit\n"
	if err := os.WriteFile(filepath.Join(root, "etc/systemd/system/try.service"), []byte(service), 0o644); err != nil {
		t.Fatal(err)
	}
	boot := exec.CommandContext(t.Context(), "timeout", "-k", "10", "600", "systemd-nspawn", "--boot", "--directory="+root,
		"--private-network", "--register=no", "--keep-unit", "--console=pipe", "systemd.unit=try.service")
	boot.Env = append(os.Environ(), "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1")
	keys, err := boot.StdinPipe() // at its end nspawn would end the root
	if err != nil {
		t.Fatal(err)
	}
	defer keys.Close()
	said, err := boot.CombinedOutput()
	tried, _ := os.ReadFile(filepath.Join(root, "unit.log"))
	switch {
	case len(tried) == 0:
		t.Skipf("systemd does not boot here, so the unit was not started: %v: %s", err, said)
	case err != nil:
		t.Fatalf("%v: %s", err, tried)
	}
	t.Logf("%s", tried)
}

// script installs a script of testdata.
func script(t *testing.T, name, to string) {
	t.Helper()
	copyFile(t, filepath.Join("testdata", name), to)
	if err := os.Chmod(to, 0o755); err != nil {
		t.Fatal(err)
	}
}

// completion types beginnings of command lines into three shells.
func completion(t *testing.T, root string) {
	const capture = "router-ordered.pcapng"
	want := map[string]string{
		"flowdedup ded":                    "flowdedup dedup",
		"flowdedup dedup router-o":         "flowdedup dedup " + capture,
		"flowdedup verify router-o":        "flowdedup verify " + capture,
		"flowdedup dedup --dupl":           "flowdedup dedup --duplicates",
		"flowdedup dedup --identity fr":    "flowdedup dedup --identity frame",
		"flowdedup dedup --method rl":      "flowdedup dedup --method rlbsbf",
		"flowdedup dedup --ignore mac,tcp": "flowdedup dedup --ignore mac,tcp-seq",
		"flowdedup distinct --of src,ds":   "flowdedup distinct --of src,dst",
		"flowdedup live -i l":              "flowdedup live -i lo",
		"flowdedup live -i lo --keep fl":   "flowdedup live -i lo --keep flow",
		"flowdedup plan --kind sl":         "flowdedup plan --kind sliding",
	}
	begun := slices.Sorted(maps.Keys(want))
	folder := filepath.Join(root, "typed")
	if err := os.Mkdir(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	copyFile(t, filepath.Join(captures, capture), filepath.Join(folder, capture))
	if err := os.WriteFile(filepath.Join(root, "begun"), []byte(strings.Join(begun, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	script(t, "complete", filepath.Join(root, "usr/local/bin/complete"))
	const enter = `mount -t proc proc "$0/proc" && mount -t devpts -o newinstance,ptmxmode=0666,mode=0666 devpts "$0/dev/pts" &&
		exec chroot --userspec=65534:65534 "$0" /bin/sh -c 'cd /typed && HOME=/tmp exec timeout 300 /usr/local/bin/complete /begun'`
	got := strings.Split(command(t, "unshare", "--mount", "--pid", "--fork", "sh", "-c", enter, root), "\n")
	for _, shell := range []string{"bash", "zsh", "fish"} {
		for _, line := range begun {
			if full := shell + ": " + want[line]; !slices.Contains(got, full) {
				t.Errorf("no %q in %q", full, got)
			}
		}
	}
}

// foreign are marks of lines that need root, a network, or programs that Debian's minimum
// does not have.
var foreign = regexp.MustCompile(`\b(live|sudo|docker|zeek|wireshark|tshark|softflowd|jq|apt|rpm|ssh|ln)\b|://|/srv/|--listen|--hub|…|go (run|install)|-i eth|extcap install`)

// manual runs the lines of the README and the manual that run flowdedup on files, in their
// order, as a user without rights.
func manual(t *testing.T, root string) {
	folder := inputs(t, root)
	pages, err := filepath.Glob("../../doc/*.md")
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, page := range slices.Concat([]string{"../../../../README.md"}, pages) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(strings.ReplaceAll(string(text), "\\\n", "")) {
			code, isCode := strings.CutPrefix(line, "    ")
			code = strings.TrimPrefix(strings.TrimSpace(code), "$ ")
			if !isCode || !strings.Contains(code, "flowdedup ") || foreign.MatchString(code) || !runs.MatchString(code) {
				continue
			}
			ran++
			full := fmt.Sprintf("cd %s && export HOME=/tmp KEY=%064d && {\n%s\n} <span.pcapng", folder, 7, code)
			out, err := exec.Command("chroot", "--userspec=65534:65534", root, "/bin/bash", "-c", full).CombinedOutput()
			if status, failed := err.(*exec.ExitError); err != nil && !(failed && status.ExitCode() == 4 && strings.Contains(code, "compare ")) {
				t.Errorf("%s: %s: %v: %s", page, code, err, out)
			}
		}
	}
	if ran < 50 {
		t.Errorf("only %d lines were run", ran)
	}
	t.Logf("%d lines", ran)
}

// runs matches lines that begin with the command, or with what makes a file for it.
var runs = regexp.MustCompile(`^(flowdedup|tcpdump|zcat) `)

// inputs makes the files that the manual reads, in a folder of a user without rights.
func inputs(t *testing.T, root string) string {
	t.Helper()
	const folder = "/manual"
	if err := os.MkdirAll(root+folder+"/testdata/pcaps", 0o777); err != nil {
		t.Fatal(err)
	}
	for from, names := range map[string]string{
		"router-ordered.pcapng":  "testdata/pcaps/router-ordered.pcapng span.pcapng span.pcap all.pcapng tenants.pcapng other.pcap in.pcap capture.pcapng monday.pcap tuesday.pcap calls.pcap",
		"router-in.pcap":         "tap-a.pcap inside.pcap sent.pcap roof.pcap core.pcap a.pcap pppoe.pcap",
		"router-out.pcap":        "tap-b.pcap outside.pcap tapped.pcap lab.pcap edge.pcap b.pcap",
		"mirror-vxlan.pcap":      "mirror.pcap fabric.pcap",
		"router-any-sll.pcap.gz": "day.pcap.gz big.pcap.gz",
	} {
		for name := range strings.FieldsSeq(names) {
			copyFile(t, filepath.Join(captures, from), root+folder+"/"+name)
		}
	}
	bothLANs(t, root+folder)
	for name, text := range recordInputs {
		if err := os.WriteFile(root+folder+"/"+name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	command(t, "chown", "-R", "65534:65534", root+folder)
	return folder
}

// bothLANs makes captures of a substation, where each station sends on two LANs.
func bothLANs(t *testing.T, folder string) {
	t.Helper()
	made := t.TempDir()
	command(t, "go", "-C", "../../../..", "run", "./bench/contest", "make", "-packets", "1000", "-o", made)
	for _, name := range []string{"substation.pcapng", "lan-a.pcap", "lan-b.pcap"} {
		copyFile(t, filepath.Join(made, "prp.pcap"), filepath.Join(folder, name))
	}
}

// recordInputs are the files of flow records that the manual names, with one flow that two
// points recorded.
var recordInputs = map[string]string{
	"r1.json": fmt.Sprintf(nfdumpRecord, 1), "a.json": fmt.Sprintf(nfdumpRecord, 1),
	"r2.json": fmt.Sprintf(nfdumpRecord, 2), "b.json": fmt.Sprintf(nfdumpRecord, 2),
	"a.csv":            datedRecord,
	"b.csv":            datedRecord,
	"netobserv-a.json": fmt.Sprintf(netobservRecord, 1),
	"netobserv-b.json": fmt.Sprintf(netobservRecord, 2),
	"hubble-a.json":    fmt.Sprintf(hubbleRecord, "n1"),
	"hubble-b.json":    fmt.Sprintf(hubbleRecord, "n2"),
	"gcp.json":         fmt.Sprintf(gcpRecord, "SRC") + fmt.Sprintf(gcpRecord, "DEST"),
	"aws-a.log":        fmt.Sprintf(awsRecord, 1, "egress"),
	"aws-b.log":        fmt.Sprintf(awsRecord, 2, "ingress"),
}

const (
	nfdumpRecord = `{"type":"FLOW","first":"2026-11-21T06:09:04.828","last":"2026-11-21T06:09:05.829","in_packets":6,"in_bytes":960,` +
		`"proto":6,"src_port":40071,"dst_port":443,"src4_addr":"192.0.2.1","dst4_addr":"198.51.100.7","ip4_router":"203.0.113.%d"}` + "\n"
	datedRecord     = "SrcIP,DstIP,When\n192.0.2.1,198.51.100.7,21/11/2026 06:09:04 PM\n"
	netobservRecord = `{"AgentIP":"203.0.113.%d","Bytes":960,"Packets":6,"SrcAddr":"192.0.2.1","DstAddr":"198.51.100.7","SrcPort":40071,` +
		`"DstPort":443,"Proto":6,"Etype":2048,"TimeFlowStartMs":1795241344828,"TimeFlowEndMs":1795241345829}` + "\n"
	hubbleRecord = `{"flow":{"time":"2026-11-21T06:09:04.828Z","IP":{"source":"192.0.2.1","destination":"198.51.100.7","ipVersion":"IPv4"},` +
		`"l4":{"TCP":{"source_port":40071,"destination_port":443}},"Type":"L3_L4","is_reply":false},"node_name":"%s","time":"2026-11-21T06:09:04.828Z"}` + "\n"
	gcpRecord = `{"jsonPayload":{"bytes_sent":"960","packets_sent":"6","connection":{"src_ip":"192.0.2.1","src_port":40071,` +
		`"dest_ip":"198.51.100.7","dest_port":443,"protocol":6},"reporter":"%s","start_time":"2026-11-21T06:09:04.828Z",` +
		`"end_time":"2026-11-21T06:09:05.829Z"}}` + "\n"
	awsRecord = "version account-id interface-id srcaddr dstaddr srcport dstport protocol packets bytes start end action log-status tcp-flags flow-direction\n" +
		"2 123456789010 eni-%d 192.0.2.1 198.51.100.7 40071 443 6 6 960 1795241344 1795241345 ACCEPT OK 27 %s\n"
)
