// SPDX-License-Identifier: Apache-2.0

package chromium

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// report is a page that the program writes with --html.
type report struct {
	name string
	args []string // without the captures
	from []string // captures of testdata
}

// reports fill each kind of page, and leave parts of it empty.
var reports = []report{
	{"inspect", []string{"inspect"}, []string{"router-ordered.pcapng"}},
	{"inspect-without-copies", []string{"inspect"}, []string{"router-plain.pcapng"}},
	{"compare", []string{"compare"}, []string{"router-in.pcap", "router-out.pcap"}},
	{"compare-apart", []string{"compare"}, []string{"router-ordered.pcapng", "tunnel-raw.pcap"}},
	{"compare-same", []string{"compare"}, []string{"router-ordered.pcapng", "router-ordered.pcapng"}},
	{"dedup", []string{"dedup"}, []string{"router-ordered.pcapng", "router-vlan.pcapng"}},
	{"dedup-without-copies", []string{"dedup"}, []string{"loopback.pcap"}},
	{"distinct", []string{"distinct", "--every", "1s", "--changes", "--total", "--of", "src,flow"}, []string{"router-ordered.pcapng"}},
	{"distinct-sketch", []string{"distinct", "--every", "none", "--method", "sketch"}, []string{"router-vlan.pcapng"}},
	{"distinct-top", []string{"distinct", "--every", "1s", "--top", "3", "--of", "src,flow"}, []string{"router-ordered.pcapng"}},
	{"inspect-tunnel", []string{"inspect", "--for", "suricata"}, []string{"mirror-vxlan.pcap"}},
	{"verify", []string{"verify"}, []string{"router-ordered.pcapng", "router-ordered.pcapng"}},
	{"verify-different", []string{"verify"}, []string{"router-in.pcap", "router-out.pcap"}},
	{"plan", []string{"plan", "--rate", "1.5M", "--window", "10ms"}, nil},
	{"plan-measured", []string{"plan", "--memory", "1MiB", "--from"}, []string{"router-ordered.pcapng"}},
}

// exitDifferent is how compare and verify end if sides differ, which is no failure here.
const exitDifferent = 4

// write writes the page, and returns its address.
func (r *report) write(t *testing.T, folder string) string {
	t.Helper()
	name := filepath.Join(folder, r.name+".html")
	args := append([]string{r.args[0], "--quiet", "--html", name}, r.args[1:]...)
	for _, file := range r.from {
		args = append(args, capture(t, file))
	}
	out, err := exec.Command(native, args...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == exitDifferent) {
		t.Fatalf("%q: %v\n%s", args, err, out)
	}
	return "file://" + filepath.ToSlash(name)
}

// flowReports writes the pages of flows, from records of two exporters of which one is
// misread.
func flowReports(t *testing.T) []report {
	t.Helper()
	folder, err := filepath.Abs(root + "/cmd/flowdedup/internal/flows/testdata")
	if err != nil {
		t.Fatal(err)
	}
	inputs := []string{filepath.Join(folder, "unread-a.csv"), filepath.Join(folder, "unread-b.csv")}
	return []report{
		{"flows", append([]string{"flows"}, inputs...), nil},
		{"flows-inspect", append([]string{"flows", "--inspect"}, inputs...), nil},
	}
}

// look is how a page is looked at.
type look struct {
	width         int64
	media, scheme string
}

var looks = []look{
	{1200, "screen", "light"}, {400, "screen", "light"}, {1200, "screen", "dark"}, {400, "screen", "dark"}, {1200, "print", "light"},
}

// judgeAll judges a page in every look. It must not be wider than the screen, and its pictures
// must not cut off texts.
func (p *tab) judgeAll(script, name string) {
	p.Helper()
	for _, l := range looks {
		call(p, chromedp.Call, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Media: l.media, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.scheme}},
		})
		p.do(chromedp.EmulateViewport(l.width, 900))
		state := fmt.Sprintf("%s, %d, %s, %s", name, l.width, l.media, l.scheme)
		p.judge(script, state)
		if wide := value[int64](p, `document.documentElement.scrollWidth`); wide > l.width {
			p.Errorf("%s: the page is %d wide", state, wide)
		}
		if cut := value[[]string](p, cutTexts); len(cut) > 0 {
			p.Errorf("%s: cut off: %q", state, cut)
		}
	}
}

// picture saves what the page shows.
func (p *tab) picture(name string) {
	p.Helper()
	image, err := chromedp.Run(p.ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.WriteFile(name, image, 0o600)
	}
	if err != nil {
		p.Fatal(err)
	}
}

// cutTexts are the texts that leave their picture.
const cutTexts = `[...document.querySelectorAll("svg")].flatMap((svg) => {
	const box = svg.getBoundingClientRect();
	return [...svg.querySelectorAll("text")].filter((text) => {
		const t = text.getBoundingClientRect();
		return t.left < box.left - 1 || t.right > box.right + 1 || t.top < box.top - 1 || t.bottom > box.bottom + 1;
	}).map((text) => text.textContent);
})`

// TestReportsAccessible wants no finding of axe on any page that --html writes: wide and narrow,
// light, dark and printed.
func TestReportsAccessible(t *testing.T) {
	script := axe(t)
	folder := t.TempDir()
	p := open(t, "about:blank")
	for _, r := range append(flowReports(t), reports...) {
		p.do(chromedp.Navigate(r.write(t, folder)))
		p.judgeAll(script, r.name)
	}
}

// freePort returns a port of this machine that nothing has.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// runServer runs a program until the test ends, and returns when its page is there.
func runServer(t *testing.T, program, address string, args ...string) {
	t.Helper()
	cmd := exec.Command(program, append(args, "--http", address)...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	for until := time.Now().Add(testTimeout); time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
		if answer, err := http.Get("http://" + address + "/healthz"); err == nil {
			answer.Body.Close()
			return
		}
	}
	t.Fatalf("%s %q: no page", program, args)
}

// TestServedAccessible wants the same of the pages of programs that run, before and after
// anything came.
func TestServedAccessible(t *testing.T) {
	script := axe(t)
	hub := filepath.Join(t.TempDir(), "flowdedup-hub")
	if err := goTool("build", "-C", "engine/cluster", "-o", hub, "./cmd/flowdedup-hub"); err != nil {
		t.Fatal(err)
	}
	p := open(t, "about:blank")

	page, packets := freePort(t), freePort(t)
	runServer(t, native, page, "live", "--quiet", "-i", "tcp-listen://"+packets)
	p.do(chromedp.Navigate("http://" + page + "/?paused"))
	p.judgeAll(script, "live-empty")
	conn, err := net.Dial("tcp", packets)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	content, err := os.ReadFile(capture(t, "router-ordered.pcapng"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(content); err != nil {
		t.Fatal(err)
	}
	p.reload(page, `/[1-9]/.test([...document.querySelectorAll("tr")].find((r) => /^duplicates/.test(r.innerText))?.innerText)`)
	p.judgeAll(script, "live")

	page, records := freePort(t), freePort(t)
	runServer(t, native, page, "flows", "--quiet", "--listen", records)
	p.do(chromedp.Navigate("http://" + page + "/?paused"))
	p.judgeAll(script, "flows-served")

	page = freePort(t)
	state := filepath.Join(t.TempDir(), "state")
	runServer(t, hub, page, "--state", state, "--listen", freePort(t), "--slices", "4", "--memory", "4MiB")
	p.do(chromedp.Navigate("http://" + page + "/?paused"))
	p.judgeAll(script, "hub-empty")
	for _, site := range []string{"berlin", "hamburg"} {
		sendToHub(t, hub, state, site)
	}
	p.reload(page, `/hamburg/.test(document.querySelector("main").innerText)`)
	p.judgeAll(script, "hub")
}

// sendToHub has a site send a capture to a hub, which has the same from every site.
func sendToHub(t *testing.T, hub, state, site string) {
	t.Helper()
	token, err := exec.Command(hub, "join-token", "--state", state, site).Output()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), site+".token")
	if err := os.WriteFile(file, token, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(native, "dedup", "--quiet", "--hub", file, capture(t, "router-ordered.pcapng")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// reload loads a page that does not load itself again, until a condition holds there.
func (p *tab) reload(address, condition string) {
	p.Helper()
	for until := time.Now().Add(testTimeout); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		p.do(chromedp.Navigate("http://" + address + "/?paused"))
		if value[bool](p, condition) {
			return
		}
	}
	p.Fatalf("never: %s\npage: %s", condition, p.words())
}
