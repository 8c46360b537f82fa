// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// pageCommands write a page to the name that follows. Each is run on captures that fill
// the page.
func pageCommands() map[string][]string {
	ordered, vlan := clitest.Bundled("router-ordered.pcapng"), clitest.Bundled("router-vlan.pcapng")
	return map[string][]string{
		"compare":       {"compare", "--quiet", clitest.Bundled("router-in.pcap"), clitest.Bundled("router-out.pcap"), "--html"},
		"compare apart": {"compare", "--quiet", ordered, clitest.Bundled("tunnel-raw.pcap"), "--html"},
		"compare same":  {"compare", "--quiet", ordered, ordered, "--html"},
		"dedup":         {"dedup", "--quiet", ordered, vlan, "--html"},
		"dedup nothing": {"dedup", "--quiet", "--filter", "tcp port 9", ordered, "--html"},
		"inspect":       {"inspect", "--quiet", ordered, "--html"},
		"inspect one":   {"inspect", "--quiet", clitest.Bundled("router-plain.pcapng"), "--html"},
		"distinct":      {"distinct", "--quiet", "--every", "1s", "--changes", "--total", "--of", "src,flow", ordered, "--html"},
		"distinct one":  {"distinct", "--quiet", "--every", "none", "--method", "sketch", vlan, "--html"},
		"flows":         {"flows", "--quiet", "--inspect", "../flows/testdata/unread-a.csv", "../flows/testdata/unread-b.csv", "--html"},
		"verify":        {"verify", "--quiet", ordered, ordered, "--html"},
		"verify other":  {"verify", "--quiet", clitest.Bundled("router-in.pcap"), clitest.Bundled("router-out.pcap"), "--html"},
		"plan":          {"plan", "--quiet", "--rate", "1.5M", "--window", "10ms", "--html"},
	}
}

// mostPage is how many bytes a page may have.
const mostPage = 300 << 10

// TestPages checks that each page is well formed, small and self-contained, and that a
// browser shows it at every width without errors and without anything cut off.
func TestPages(t *testing.T) {
	dir := t.TempDir()
	pages := map[string]string{}
	for name, args := range pageCommands() {
		if strings.Contains(name, "nothing") {
			clitest.NeedTcpdump(t)
		}
		file := filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".html")
		out, errs, code := clitest.Run(append(args, file)...)
		if code != cli.ExitDone && (code != cli.ExitDifferent || args[0] != "compare" && name != "verify other") || out != "" {
			t.Fatalf("%s: exit code %d, %s%s", name, code, out, errs)
		}
		text := clitest.ReadFile(t, file)
		if len(text) > mostPage {
			t.Errorf("%s: %d bytes", name, len(text))
		}
		if found := outside.FindString(string(text)); found != "" {
			t.Errorf("%s refers to something with %q", name, found)
		}
		clitest.WellFormed(t, string(text))
		pages[name] = string(text)
	}
	if !testing.Short() {
		browse(t, pages)
	}
}

// outside matches what a page would load, or run.
var outside = regexp.MustCompile(`(?i)(src|href)=|url\(|@import|<script|https?://`)

// shown is the browser's report on a page at a width.
type shown struct {
	Page  string   `json:"page"`
	Width int      `json:"width"`
	Wide  int      `json:"wide"`  // of the content
	Text  int      `json:"text"`  // letters
	Cut   []string `json:"cut"`   // texts that leave their picture
	Empty int      `json:"empty"` // elements that should have a text
}

// inspectPages is the script that runs next to the pages.
const inspectPages = `
addEventListener('load', () => {
  const all = [];
  for (const frame of document.querySelectorAll('iframe')) {
    const d = frame.contentDocument, cut = [];
    for (const svg of d.querySelectorAll('svg')) {
      const box = svg.getBoundingClientRect();
      for (const text of svg.querySelectorAll('text')) {
        const t = text.getBoundingClientRect();
        if (t.left < box.left - 1 || t.right > box.right + 1 || t.top < box.top - 1 || t.bottom > box.bottom + 1) cut.push(text.textContent);
      }
    }
    const empty = [...d.querySelectorAll('h1, h2, th, dt, dd, figcaption, li')].filter(e => !e.textContent.trim()).length;
    all.push({page: frame.title, width: frame.clientWidth, wide: d.documentElement.scrollWidth, text: d.body.innerText.length, cut, empty});
  }
  document.getElementById('result').textContent = JSON.stringify(all);
});`

// browse shows the pages in a browser without a window.
func browse(t *testing.T, pages map[string]string) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium to show the pages with")
	}
	var harness strings.Builder
	for name, text := range pages {
		for _, width := range []int{1200, 400} {
			fmt.Fprintf(&harness, `<iframe title="%s" style="border:0;width:%dpx;height:600px" srcdoc="%s"></iframe>`, name, width, html.EscapeString(text))
		}
	}
	file := filepath.Join(t.TempDir(), "pages.html")
	text := `<!DOCTYPE html><meta charset="utf-8"><pre id="result"></pre>` + harness.String() + "<script>" + inspectPages + "</script>"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(browser, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--user-data-dir="+t.TempDir(),
		"--virtual-time-budget=5000", "--dump-dom", "file://"+file)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	dom, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %.1000s", err, errs.String())
	}
	if console := regexp.MustCompile(`.*CONSOLE.*`).FindAllString(errs.String(), -1); console != nil {
		t.Errorf("the browser complains: %q", console)
	}
	found := regexp.MustCompile(`(?s)<pre id="result">(.*?)</pre>`).FindSubmatch(dom)
	if found == nil {
		t.Fatalf("no result in %.500s", dom)
	}
	var all []shown
	if err := json.Unmarshal([]byte(html.UnescapeString(string(found[1]))), &all); err != nil {
		t.Fatalf("%v in %.500s", err, found[1])
	}
	if len(all) != 2*len(pages) {
		t.Errorf("%d of %d pages were shown", len(all), 2*len(pages))
	}
	for _, s := range all {
		if s.Wide > s.Width || s.Text < 200 || len(s.Cut) > 0 || s.Empty > 0 {
			t.Errorf("page %s, %d px wide: content %d px, %d letters, cut off %q, %d empty elements", s.Page, s.Width, s.Wide, s.Text, s.Cut, s.Empty)
		}
	}
}
