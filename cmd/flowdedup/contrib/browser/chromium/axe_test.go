// SPDX-License-Identifier: Apache-2.0

package chromium

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// axeVersion is the package of the npm registry that judges accessibility.
const axeVersion = "axe-core@4.14.1"

// axe returns the script of axe-core, or skips the test where the registry is not to be had.
func axe(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	pack := exec.Command("npm", "pack", "--silent", axeVersion)
	pack.Dir = folder
	if out, err := pack.Output(); err != nil {
		t.Skipf("skipped: npm pack %s: %v %s", axeVersion, err, out)
	}
	names, err := filepath.Glob(filepath.Join(folder, "*.tgz"))
	if err != nil || len(names) != 1 {
		t.Fatalf("packages: %q, %v", names, err)
	}
	file, err := os.Open(names[0])
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	plain, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	for archive := tar.NewReader(plain); ; {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			t.Fatal("the package has no axe.min.js")
		}
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(head.Name, "/axe.min.js") {
			script, err := io.ReadAll(archive)
			if err != nil {
				t.Fatal(err)
			}
			return string(script)
		}
	}
}

// finding is a rule that elements of a page break.
type finding struct {
	ID, Help string
	Nodes    []struct{ HTML string }
}

// judge runs axe on what the page shows. The frame has no scripts, so axe cannot look into it;
// its page is judged as a page of its own.
func (p *tab) judge(script, state string) {
	p.Helper()
	p.do(chromedp.Evaluate[chromedp.Void](script + "; undefined"))
	text := value[string](p, `axe.run(document, { iframes: false, runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }).then((r) => JSON.stringify(r.violations))`)
	var all []finding
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		p.Fatal(err)
	}
	for _, one := range all {
		p.Errorf("%s: %s: %s: %v", state, one.ID, one.Help, one.Nodes)
	}
	if folder := os.Getenv("FLOWDEDUP_PICTURES"); folder != "" {
		p.picture(filepath.Join(folder, strings.ReplaceAll(state, ", ", "-")+".png"))
	}
}

// growth is by how much the frame grows when the window changes its size and gets it again.
const growth = `(() => {
	const frame = document.getElementById("frame");
	window.dispatchEvent(new Event("resize"));
	const before = frame.offsetHeight;
	for (let i = 0; i < 20; i++) window.dispatchEvent(new Event("resize"));
	return frame.offsetHeight - before;
})()`

// TestAccessible wants no finding of axe: wide and narrow, light and dark, before a run, after
// both, and with an error. The main steps work by the keyboard.
func TestAccessible(t *testing.T) {
	script := axe(t)
	address := serve(t)
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{1200, 400} {
			p := open(t, address)
			call(p, chromedp.Call, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
			})
			p.do(chromedp.EmulateViewport(width, 900))
			state := func(of string) string { return fmt.Sprintf("browser, %s, %d, %s", of, width, scheme) }
			p.judge(script, state("empty"))
			running := func(hidden string) {
				p.do(chromedp.Evaluate[chromedp.Void](`document.getElementById("running").hidden = ` + hidden))
			}
			running("false")
			p.judge(script, state("running"))
			running("true")
			if status, failure := p.choose(capture(t, "router-plain.pcapng")); !strings.HasPrefix(status, "Done") {
				t.Fatalf("%s %s", status, failure)
			}
			p.frame()
			p.judge(script, state("inspected"))
			if wide := value[int](p, `document.documentElement.scrollWidth`); int64(wide) > width {
				t.Errorf("the page is %d wide, on a screen of %d", wide, width)
			}
			if grown := value[float64](p, growth); grown != 0 {
				t.Errorf("the frame grew by %g pixels while the window was resized", grown)
			}
			p.forget()
			p.do(chromedp.Focus(chromedp.ID("output")), chromedp.KeyEvent("\r"))
			if status, failure := p.ended(); !strings.HasPrefix(status, "Done") {
				t.Fatalf("%s %s", status, failure)
			}
			p.judge(script, state("cleaned"))
			p.choose("/dev/null")
			p.judge(script, state("failed"))
		}
	}
}
