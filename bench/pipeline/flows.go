// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// flowCommands are the commands that are measured on flow records. Collectors, of the job listen,
// get the datagrams of the capture at port 2055.
var flowCommands = []command{
	{job: "count", name: "flows", line: "flowdedup flows $IN -q", tools: []string{"flowdedup"}},
	{job: "count", name: "goflow2", line: "goflow2 $IN", tools: []string{"goflow2"}},
	{job: "count", name: "nfdump", line: "nfdump -R $IN.nf -I", tools: []string{"nfdump", "nfcapd"}},
	{job: "write", name: "flows-json", line: "flowdedup flows $IN -q --policy mark -w - > /dev/null", tools: []string{"flowdedup"}},
	{job: "write", name: "nfdump-json", line: "nfdump -R $IN.nf -o json > /dev/null", tools: []string{"nfdump", "nfcapd"}},
	{job: "listen", name: "flows-listen", line: "flowdedup flows --listen 127.0.0.1:2055 -q", tools: []string{"flowdedup"}},
	{job: "listen", name: "nfcapd", line: collect + "out", tools: []string{"nfcapd"}},
	{job: "listen", name: "sfcapd", line: "sfcapd" + strings.TrimPrefix(collect, "nfcapd") + "out", tools: []string{"sfcapd"}},
}

const collect = "nfcapd -p 2055 -b 127.0.0.1 -B 8000000 -t 3600 -w "

// takes reports whether a command reads a format. nfdump reads what nfcapd has made of it.
func (c command) takes(format string) bool {
	switch {
	case format == "ndjson":
		return slices.Contains(c.tools, "flowdedup") && c.job != "listen"
	case strings.HasPrefix(c.name, "sfcapd"):
		return format == "sflow"
	case strings.HasPrefix(c.name, "nf"):
		return format != "sflow"
	}
	return true
}

// exports measures the commands on flow records of each format.
func (b *bench) exports(ctx context.Context) error {
	for _, k := range exportKinds {
		on := capture{k, k.name, 2 * b.flows}
		if err := writeExports(filepath.Join(b.dir, on.file), k.name, int(b.flows)); err != nil {
			return err
		}
		defer b.remove(on)
		var all []task
		for _, c := range b.commands {
			if c.takes(k.name) {
				all = append(all, task{c, on, fmt.Sprintf("Flows/format=%s/job=%s/command=%s", k.name, c.job, c.name)})
			}
		}
		stored := on.file + ".nf"
		if slices.ContainsFunc(all, func(t task) bool { return strings.Contains(t.line, "$IN.nf") }) {
			if err := os.Mkdir(filepath.Join(b.dir, stored), 0o777); err != nil {
				return err
			}
			if _, err := collected(ctx, b.dir, collect+stored, on.file); err != nil {
				return err
			}
		}
		if err := b.inRounds(ctx, all); err != nil {
			return err
		}
	}
	return nil
}

const (
	settle = time.Second // for a collector to begin, and to read the last messages
	// burst datagrams are sent at a time, every 4 ms: 4,000 in a second.
	burst, pause = 16, 4 * time.Millisecond
)

// collected returns what a collector takes for the datagrams of a capture. The sender's part is not
// in it.
func collected(ctx context.Context, dir, line, in string) (cost, error) {
	if err := errors.Join(os.RemoveAll(filepath.Join(dir, "out")), os.Mkdir(filepath.Join(dir, "out"), 0o777)); err != nil {
		return cost{}, err
	}
	words := strings.Fields(line)
	collector := exec.CommandContext(ctx, words[0], words[1:]...)
	collector.Dir = dir
	if err := collector.Start(); err != nil {
		return cost{}, err
	}
	begin := time.Now()
	time.Sleep(settle)
	failed := send(filepath.Join(dir, in))
	time.Sleep(settle)
	_ = collector.Process.Signal(syscall.SIGTERM) // Wait returns what is wrong
	err := collector.Wait()
	if state := collector.ProcessState; state.ExitCode() == 128+int(syscall.SIGTERM) {
		err = nil
	}
	if err = errors.Join(failed, err); err != nil {
		return cost{}, fmt.Errorf("%s: %w", line, err)
	}
	state := collector.ProcessState
	usage := state.SysUsage().(*syscall.Rusage)
	return cost{time.Since(begin), state.UserTime() + state.SystemTime(), int64(usage.Maxrss) * 1024}, nil
}

// send sends the datagrams of a capture that writeExports has made, those of each exporter from an
// address of its own.
func send(name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	conns, in := map[byte]net.Conn{}, bufio.NewReader(file)
	head, frame := make([]byte, 16), make([]byte, 2048)
	_, err = in.Discard(24)
	for n, next := 0, time.Now(); err == nil; n++ {
		if _, err = io.ReadFull(in, head); err != nil {
			break
		}
		frame = frame[:be.Uint32(head[8:])]
		if _, err = io.ReadFull(in, frame); err != nil {
			break
		}
		exporter := frame[29]
		if conns[exporter] == nil {
			from := net.Dialer{LocalAddr: &net.UDPAddr{IP: net.IPv4(127, 0, 1, exporter)}}
			if conns[exporter], err = from.Dial("udp", "127.0.0.1:2055"); err != nil {
				return err
			}
			defer conns[exporter].Close()
		}
		_, err = conns[exporter].Write(frame[42:])
		if n%burst == burst-1 {
			next = next.Add(pause)
			time.Sleep(time.Until(next))
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
