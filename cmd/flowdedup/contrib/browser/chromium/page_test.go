// SPDX-License-Identifier: Apache-2.0

package chromium

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// testTimeout is after how long a test gives up.
const testTimeout = 20 * time.Minute

// tab is the page in a browser of its own.
type tab struct {
	*testing.T
	ctx     context.Context
	folder  string // of downloads
	mu      sync.Mutex
	visited []string      // addresses of all requests
	saved   chan struct{} // gets a value for each complete download
}

// open opens an address.
func open(t *testing.T, address string) *tab {
	t.Helper()
	p := &tab{T: t, folder: t.TempDir(), saved: make(chan struct{}, 16)}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chrome), chromedp.NoSandbox)...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := errors.Join(chromedp.Listen(ctx, p.note), chromedp.ListenBrowser(ctx, p.note)); err != nil {
		t.Fatal(err)
	}
	p.ctx, cancel = context.WithTimeout(ctx, testTimeout)
	t.Cleanup(cancel)
	call(p, chromedp.Call, network.Enable, network.EnableParams{})
	call(p, chromedp.CallBrowser, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: browser.SetDownloadBehaviorBehaviorAllow, DownloadPath: p.folder, EventsEnabled: &yes,
	})
	p.do(chromedp.Navigate(address))
	return p
}

var yes = true

// call sends a command of the protocol.
func call[P, R any](p *tab, send func(context.Context, cdp.Command[P, R], P) (R, error), command cdp.Command[P, R], params P) {
	p.Helper()
	if _, err := send(p.ctx, command, params); err != nil {
		p.Fatal(err)
	}
}

// note notes requests and downloads.
func (p *tab) note(event any) {
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		p.mu.Lock()
		defer p.mu.Unlock()
		p.visited = append(p.visited, e.Request.URL)
	case *browser.EventDownloadProgress:
		if e.State == browser.DownloadProgressStateCompleted {
			p.saved <- struct{}{}
		}
	}
}

func (p *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	p.Helper()
	if err := chromedp.Do(p.ctx, actions...); err != nil {
		p.Fatalf("%v\npage: %s", err, p.words())
	}
}

// words returns what the page says, for messages of tests.
func (p *tab) words() string {
	text, err := chromedp.Run(p.ctx, chromedp.Evaluate[string]("document.body.innerText"))
	if err != nil {
		return err.Error()
	}
	return text
}

// value evaluates an expression, or what it promises.
func value[T any](p *tab, expression string) T {
	p.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.Fatalf("%s: %v\npage: %s", expression, err, p.words())
	}
	return v
}

// until waits until an expression is true.
func (p *tab) until(expression string) {
	p.Helper()
	value[bool](p, `new Promise((done) => { const look = () => (`+expression+`) ? done(true) : setTimeout(look, 20); look(); })`)
}

// choose chooses captures, and waits until they are inspected, or have failed. It returns what
// the page says of it.
func (p *tab) choose(names ...string) (status, failure string) {
	p.Helper()
	p.forget()
	p.do(chromedp.SetUploadFiles(chromedp.ID("files"), names))
	return p.ended()
}

// forget empties the status, so that the next status is seen.
func (p *tab) forget() {
	p.Helper()
	p.do(chromedp.Evaluate[chromedp.Void](`document.getElementById("status").textContent = ""`))
}

// ended waits for the end of a run, and returns what the page says of it.
func (p *tab) ended() (status, failure string) {
	p.Helper()
	p.until(`/^(Done|Failed|Cancelled)/.test(document.getElementById("status").textContent)`)
	return p.status()
}

// status returns what the page says of the last run, and how it failed.
func (p *tab) status() (status, failure string) {
	p.Helper()
	return value[string](p, `document.getElementById("status").textContent`), value[string](p, `document.getElementById("error").textContent`)
}

// clean appends options to the present options, presses the button, and returns all options.
func (p *tab) clean(more ...string) []string {
	p.Helper()
	all := append(strings.Fields(value[string](p, `document.getElementById("options").value`)), more...)
	p.forget()
	p.do(chromedp.SetValue(chromedp.ID("options"), strings.Join(all, " ")), chromedp.Click(chromedp.CSS("#clean button")))
	if status, failure := p.ended(); !strings.HasPrefix(status, "Done") {
		p.Fatalf("%s %s", status, failure)
	}
	return all
}

// save clicks on the link, and returns the file.
func (p *tab) save() []byte {
	p.Helper()
	p.do(chromedp.Click(chromedp.ID("save")))
	select {
	case <-p.saved:
	case <-p.ctx.Done():
		p.Fatalf("no download: %v", p.ctx.Err())
	}
	name := filepath.Join(p.folder, value[string](p, `document.getElementById("save").download`))
	content, err := os.ReadFile(name)
	if err != nil {
		p.Fatal(err)
	}
	if err := os.Remove(name); err != nil {
		p.Fatal(err)
	}
	return content
}

// frame returns the text of the page that the program wrote.
func (p *tab) frame() string {
	p.Helper()
	p.until(`document.getElementById("frame").contentDocument?.body?.innerText.length > 20`)
	return value[string](p, `document.getElementById("frame").contentDocument.body.innerText`)
}

// foreign returns the addresses of all requests except for own files.
func (p *tab) foreign(own string, files ...string) (all []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	allowed := map[string]bool{own: true}
	for _, name := range files {
		allowed[own+name] = true
	}
	for _, address := range p.visited {
		if !allowed[address] && !strings.HasPrefix(address, "data:") && !strings.HasPrefix(address, "blob:") && !strings.HasPrefix(address, "about:") {
			all = append(all, address)
		}
	}
	return all
}
