// SPDX-License-Identifier: Apache-2.0

package bounds

import (
	"slices"
	"strings"
)

// command is a command line. IN is the input, COPY a copy of it, SMALL a capture of this
// project, PEER sends the input, KEY is a key, and outputs are files of the folder that
// the command runs in. The exact method, and counts without --memory, are missing: they
// take as much memory as they need.
type command struct {
	line string
	of   subject
}

// commands are all commands, each with its main flags.
var commands = []command{
	{"dedup IN", packets},
	{"dedup IN -w out.pcapng", packets},
	{"dedup IN -w out.pcapng --keep first --window 1s", packets},
	{"dedup IN -w out.pcapng --keep flow --hold 1s --window 1s", packets},
	{"dedup IN -w out.pcapng --keep flow --hold 1s --window 1s --ignore l4-checksum --across", packets},
	{"dedup IN -w out.pcapng --across --window 50ms --duplicates copies.pcapng", packets},
	{"dedup IN -w out.pcapng --sort 1s", packets},
	{"dedup IN -w out.pcapng --sort 10m --sort-memory 64MiB", packets},
	{"dedup IN -w out.pcapng --slice l4+64", packets},
	{"dedup IN -w out.pcapng --strip vlan,mpls,pppoe,tunnel", packets},
	{"dedup IN -w out.pcapng --mark --window 1s", packets},
	{"dedup IN -w out.pcapng --for suricata", packets},
	{"dedup IN -w out.pcapng.gz --rotate-size 1MiB --rotate-keep 2", packets},
	{"dedup IN -w out.pcap --window none --memory 64MiB", packets},
	{"dedup IN --window 1h --memory 64MiB", packets},
	{"dedup IN --window n:1000000 --memory 64MiB", packets},
	{"dedup IN --window 1s --ignore ttl,dscp,l4-checksum --protect icmp --only ip --memory 64MiB", packets},
	{"dedup IN --method coarse --window 100ms --memory 64MiB", packets},
	{"dedup IN --identity inner --within vlan --window 1s", packets},
	{"dedup IN COPY -w out.pcapng", packets},
	{"dedup --no-merge IN COPY --html page.html --json", packets},
	{"distinct IN --of src,dst,ip,pair,flow,biflow,mac --memory 64MiB", packets},
	{"distinct IN --of src,flow --every 1m --slide 1s --memory 64MiB", packets},
	{"distinct IN --of flow,mac --inner --vlan --total --changes --html page.html --csv rows.csv --set-limit 1M", packets},
	{"distinct IN --of src,flow,mac --top 10 --memory 64MiB --html page.html", packets},
	{"distinct IN COPY --of src --total --save out.counts --sensor a --set-limit 1M --key KEY", packets},
	{"distinct IN --list --json --method lru --memory 16MiB --of flow", packets},
	{"inspect IN", packets},
	{"inspect IN COPY --json --html page.html", packets},
	{"compare IN IN --memory 64MiB", packets},
	{"compare IN SMALL --memory 64MiB --only-a out.pcapng", packets},
	{"compare --lans IN --memory 64MiB", packets},
	{"verify IN IN --memory 64MiB", packets},
	{"verify IN SMALL --memory 64MiB --window 1s", packets},
	{"plan --from IN", packets},
	{"flows IN -w out.ndjson --memory 16MiB", packets},
	{"live -i PEER -w out.pcapng --keep flow --window 1s --memory 16MiB --of src,flow,mac --reports rows.jsonl --state state", packets},
	{"live -i PEER --across --window 50ms --save . --sensor a --key KEY --of src --every 15m --memory 16MiB --reports rows.jsonl", packets},

	{"flows IN -w out.ndjson --memory 16MiB", records},
	{"flows IN -w out.ndjson --memory 16MiB --policy merge --flow-key biflow", records},
	{"flows IN -w out.csv --memory 16MiB --policy record --inner", records},
	{"flows IN --memory 16MiB --of src,dst,flow --every 1m --reports rows.jsonl", records},
	{"flows IN --memory 16MiB --inspect --html page.html", records},
	{"flows IN COPY -w out.ndjson --policy mark --point same", records},
	{"inspect IN", records},

	{"distinct --merge IN", counts},
	{"distinct --merge --overlap IN COPY", counts},
}

// names reports whether a word of a command line stands for something.
func (c command) names(word string) bool { return slices.Contains(strings.Fields(c.line), word) }

// arguments are the arguments of the program.
func (c command) arguments(words map[string]string) []string {
	args := strings.Fields(c.line)
	for i, a := range args {
		if name, ok := words[a]; ok {
			args[i] = name
		}
	}
	return args
}

// live reports whether the command reads from a peer.
func (c command) live() bool { return c.names("PEER") }
