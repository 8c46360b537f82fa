// SPDX-License-Identifier: Apache-2.0

package chromium

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// key makes the filters of both programs the same.
const key = "--key=5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a"

// reference returns what the native program writes.
func reference(t *testing.T, options []string, inputs ...string) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out.pcapng")
	args := append([]string{"dedup", "-q", "-w", out}, options...)
	if text, err := exec.Command(native, append(args, inputs...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, text)
	}
	content, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// TestSameBytes cleans the captures of testdata as the page recommends. It wants the bytes that
// the native program writes with the same options, and no request but those for own files.
func TestSameBytes(t *testing.T) {
	address := serve(t)
	p := open(t, address)
	for _, name := range captures(t) {
		if status, failure := p.choose(name); !strings.HasPrefix(status, "Done") || failure != "" {
			t.Errorf("%s: %s %s", name, status, failure)
			continue
		}
		if text := p.frame(); !strings.Contains(text, "packets") {
			t.Errorf("%s: the page of inspect: %s", name, text)
		}
		options := p.clean(key)
		got, want := p.save(), reference(t, options, name)
		if !bytes.Equal(got, want) {
			t.Errorf("%s with %q: %d bytes, not the %d of the native program", filepath.Base(name), options, len(got), len(want))
		}
	}
	files := []string{"style.css", "page.js", "flowdedup.wasm.gz", "files.js", "wasm_exec.js", "worker.js"}
	if all := p.foreign(address, files...); len(all) > 0 {
		t.Errorf("requests for %q", all)
	}
	if len(p.visited) < len(files) {
		t.Errorf("only %d requests were seen: %q", len(p.visited), p.visited)
	}
}

// TestSeveral merges two captures that are dropped, in the page that is one file, which no
// server sends.
func TestSeveral(t *testing.T) {
	address := "file://" + filepath.ToSlash(site) + "/flowdedup.html"
	p := open(t, address)
	names := []string{capture(t, "router-in.pcap"), capture(t, "router-out.pcap")}
	p.forget()
	for _, kind := range []input.DispatchDragEventType{input.DispatchDragEventTypeDragEnter, input.DispatchDragEventTypeDragOver, input.DispatchDragEventTypeDrop} {
		call(p, chromedp.Call, input.DispatchDragEvent, input.DispatchDragEventParams{
			Type: kind, X: 200, Y: 200, Data: &input.DragData{Items: []*input.DragDataItem{}, Files: names, DragOperationsMask: 1},
		})
	}
	if status, failure := p.ended(); !strings.HasPrefix(status, "Done") {
		t.Fatalf("%s %s", status, failure)
	}
	options := p.clean(key)
	if got := p.save(); !bytes.Equal(got, reference(t, options, names...)) {
		t.Errorf("%d other bytes with %q", len(got), options)
	}
	if all := p.foreign(address); len(all) > 0 {
		t.Errorf("requests for %q", all)
	}
}
