// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"fmt"
)

// paths are the commands of -paths: what people combine with plain dedup and distinct, which begin
// their jobs, and peers that do the same.
var paths = []command{
	{job: "dedup", name: "plain", line: "flowdedup dedup $IN -q --workers 1"},
	{job: "dedup", name: "sort", line: "flowdedup dedup $IN -q --workers 1 --sort 1s"},
	{job: "dedup", name: "exact", line: "flowdedup dedup $IN -q --workers 1 --method exact"},
	{job: "dedup", name: "write", line: "flowdedup dedup $IN -q --workers 1 -w out/clean.pcap"},
	{job: "dedup", name: "mark", line: "flowdedup dedup $IN -q --workers 1 --mark -w out/marked.pcapng"},
	{job: "dedup", name: "lz4", line: "flowdedup dedup $IN -q --workers 1 -w out/clean.pcap.lz4"},
	{job: "dedup", name: "lz4-pipe", line: "flowdedup dedup $IN -q --workers 1 -w - | lz4 -1 > out/clean.pcap.lz4", tools: []string{"lz4"}},
	{job: "dedup", name: "verify", line: "flowdedup verify -q $IN $IN"},
	{job: "dedup", name: "inspect", line: "flowdedup inspect $IN -q --workers 1"},
	{job: "dedup", name: "compare", line: "flowdedup compare $IN $IN -q --workers 1"},
	{job: "distinct", name: "plain", line: "flowdedup distinct $IN -q --workers 1 --of src,dst,flow"},
	{job: "distinct", name: "every-100ms", line: "flowdedup distinct $IN -q --workers 1 --of src,dst,flow --every 100ms"},
	{job: "distinct", name: "list", line: "flowdedup distinct $IN -q --workers 1 --of src,dst,flow --every 1m --list"},
	{job: "distinct", name: "changes", line: "flowdedup distinct $IN -q --workers 1 --of src,dst,flow --every 1m --changes"},
}

// paths measures the commands of paths on short frames.
func (b *bench) paths(ctx context.Context) error {
	on := kinds[0].of(b.bytes[kinds[0].name] / 4)
	if err := b.generate(ctx, on); err != nil {
		return err
	}
	defer b.remove(on)
	var all []task
	for _, c := range installed(paths) {
		c.line += " > /dev/null"
		all = append(all, task{c, on, fmt.Sprintf("Paths/job=%s/command=%s", c.job, c.name)})
	}
	return b.inRounds(ctx, all)
}
