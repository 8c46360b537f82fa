package bpf

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/net/bpf"

	"github.com/flowdedup/flowdedup/capture"
)

// needCompiler skips a test where nothing compiles expressions.
func needCompiler(t testing.TB) {
	t.Helper()
	if _, err := Compile(context.Background(), "", capture.LinkEthernet, 1500, ""); err != nil {
		t.Skip(err)
	}
}

func TestCompile(t *testing.T) {
	needCompiler(t)
	got, err := Compile(context.Background(), "ip", capture.LinkEthernet, 96, "")
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
		if _, err := Compile(context.Background(), "len > 100", link, 1500, ""); err != nil {
			t.Errorf("%v: %v", link, err)
		}
	}
}

// TestCompileErrors wants one line each, with libpcap's reason.
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
		_, err := Compile(context.Background(), c.expr, c.link, 1500, "")
		if !errors.Is(err, ErrExpression) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %q", c.expr, err, c.want)
		}
	}
}

func TestCompileCancelled(t *testing.T) {
	needCompiler(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Compile(ctx, "tcp", capture.LinkEthernet, 1500, ""); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
