// SPDX-License-Identifier: Apache-2.0

package bpf

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/bpf"

	"github.com/flowdedup/flowdedup/capture"
)

// needCompiler skips a test where nothing compiles expressions.
func needCompiler(t testing.TB) {
	t.Helper()
	if _, err := compile(context.Background(), "", capture.LinkEthernet, 1500, ""); err != nil {
		t.Skip(err)
	}
}

func TestCompile(t *testing.T) {
	needCompiler(t)
	got, err := compile(context.Background(), "ip", capture.LinkEthernet, 96, "")
	want := []bpf.RawInstruction{{Op: 40, K: 12}, {Op: 21, Jf: 1, K: 0x800}, {Op: 6, K: 96}, {Op: 6}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}

// TestCompileLinks compiles for every link type that libpcap can filter on.
func TestCompileLinks(t *testing.T) {
	needCompiler(t)
	for _, link := range []capture.LinkType{
		capture.LinkNull, capture.LinkEthernet, capture.LinkTokenRing, capture.LinkARCNET, capture.LinkSLIP,
		capture.LinkPPP, capture.LinkFDDI, capture.LinkRawDLT12, capture.LinkPPPHDLC,
		capture.LinkPPPEther, capture.LinkATMRFC1483, capture.LinkRaw, capture.LinkCHDLC, capture.LinkIEEE80211,
		capture.LinkFrameRelay, capture.LinkLoop, capture.LinkEnc, capture.LinkLinuxSLL, capture.LinkPFLog,
		capture.LinkPrism, capture.LinkSunATM, capture.LinkRadiotap, capture.LinkAVS, capture.LinkPPI,
		capture.LinkIPNet, capture.LinkIPv4, capture.LinkIPv6, capture.LinkIPoverIB, capture.LinkLinuxSLL2,
	} {
		if _, err := compile(context.Background(), "len > 100", link, 1500, ""); err != nil {
			t.Errorf("%v: %v", link, err)
		}
	}
}

// TestCompileErrors wants a single line each, with libpcap's reason.
func TestCompileErrors(t *testing.T) {
	needCompiler(t)
	for _, c := range []struct {
		expr string
		link capture.LinkType
		want string
	}{
		{"tcp prot 80", capture.LinkEthernet, "syntax error"},
		{"(tcp", capture.LinkEthernet, "syntax error"},
		{"port 99999", capture.LinkEthernet, "99999"},
		{"ip and arp", capture.LinkEthernet, "rejects all packets"},
		{"vlan 5", capture.LinkRaw, "no VLAN support"},
		{"inbound", capture.LinkEthernet, "savefiles"},
		{"-w /dev/null", capture.LinkEthernet, "syntax error"}, // no option
		{"tcp", 65000, "65000"},
	} {
		_, err := compile(context.Background(), c.expr, c.link, 1500, "")
		if !errors.Is(err, ErrExpression) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %q", c.expr, err, c.want)
		}
	}
}

func TestCompileCancelled(t *testing.T) {
	needCompiler(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := compile(ctx, "tcp", capture.LinkEthernet, 1500, ""); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// standIn puts a shell script in tcpdump's place. No test opens an interface with the
// true tcpdump: that takes root, and a kernel in order.
func standIn(t *testing.T, script string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("no shell scripts")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tcpdump"), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// TestCompileLive wants tcpdump to open the interface for what only the kernel knows of
// a packet, where the link type has no place for that.
func TestCompileLive(t *testing.T) {
	said := filepath.Join(t.TempDir(), "said")
	standIn(t, `echo "$*" >'`+said+`'; echo '1
6 0 0 96'`)
	const file = "-r - -ddd -- "
	for _, c := range []struct {
		expr string
		link capture.LinkType
		want string
	}{
		{"tcp port 443", capture.LinkEthernet, file},
		{"vlan 5 and tcp port 443", capture.LinkEthernet, "-i lo -p -y EN10MB -s 1500 -ddd -- "},
		{"inbound", capture.LinkRaw, "-i lo -p -y RAW -s 1500 -ddd -- "},
		{"outbound and ip6", capture.LinkEthernet, "-i lo -p -y EN10MB -s 1500 -ddd -- "},
		{"inbound", capture.LinkLinuxSLL2, file},
	} {
		program, err := compile(context.Background(), c.expr, c.link, 1500, "lo")
		if err != nil || len(program) != 1 {
			t.Errorf("%q: %v, %v", c.expr, program, err)
		}
		args, err := os.ReadFile(said)
		if want := c.want + c.expr + "\n"; err != nil || string(args) != want {
			t.Errorf("%q: tcpdump %s, want %s (%v)", c.expr, args, want, err)
		}
	}
}

// TestCompilerFails wants an error, soon, from a tcpdump that is not as it should be.
func TestCompilerFails(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"silent":          {"exit 0", "instructions"},
		"garbage":         {"echo hello", "line 1"},
		"endless":         {"exec yes", "compile the filter with tcpdump"},
		"slow":            {"exec sleep 60", "deadline"},
		"fails":           {"echo oops >&2; exit 3", "exit status 3"},
		"bad program":     {"echo 1; echo '0 0 0 0'", "return"},
		"last words":      {"echo 'tcpdump: listening' >&2; echo 'tcpdump: syntax error' >&2; exit 1", ": tcpdump: syntax error"},
		"says and prints": {"echo 'tcpdump: warning' >&2; echo 1; echo '6 0 0 1'", ""},
	} {
		t.Run(name, func(t *testing.T) {
			standIn(t, c.script)
			ctx := context.Background()
			if name == "slow" {
				var cancel func()
				ctx, cancel = context.WithTimeout(ctx, time.Second)
				defer cancel()
			}
			_, err := compile(ctx, "tcp", capture.LinkEthernet, 1500, "")
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// TestNoCompiler checks the advice that is given without tcpdump.
func TestNoCompiler(t *testing.T) {
	for _, name := range beyondPath {
		if _, err := os.Stat(name); err == nil {
			t.Skip(name + " is found without PATH")
		}
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := compile(context.Background(), "tcp", capture.LinkEthernet, 1500, ""); !errors.Is(err, ErrNoCompiler) {
		t.Error(err)
	}
}
