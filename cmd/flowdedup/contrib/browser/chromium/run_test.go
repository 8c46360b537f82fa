// SPDX-License-Identifier: Apache-2.0

package chromium

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// TestPolicy tries to send something to a foreign host, from the page and from a worker as the page
// makes them. The browser refuses both, and nothing arrives.
func TestPolicy(t *testing.T) {
	var arrived atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		arrived.Add(1)
		w.Header().Set("Access-Control-Allow-Origin", "*")
	}))
	t.Cleanup(other.Close)
	for _, address := range []string{serve(t), "file://" + filepath.ToSlash(site) + "/flowdedup.html"} {
		p := open(t, address)
		send := `fetch("` + other.URL + `").then(() => "sent", (why) => why.name)`
		if got := value[string](p, send); got != "TypeError" {
			t.Errorf("%s: the page: %s", address, got)
		}
		worker := `new Promise((done, fail) => {
			const worker = new Worker(URL.createObjectURL(new Blob(['` + send + `.then(postMessage)'])));
			worker.onmessage = (event) => done(event.data);
			worker.onerror = (event) => fail(event.message);
		})`
		if got := value[string](p, worker); got != "TypeError" {
			t.Errorf("%s: the worker: %s", address, got)
		}
		image := `new Promise((done) => { const i = new Image(); i.onload = () => done("sent"); i.onerror = () => done("refused"); i.src = "` + other.URL + `"; })`
		if got := value[string](p, image); got != "refused" {
			t.Errorf("%s: an image: %s", address, got)
		}
	}
	if n := arrived.Load(); n > 0 {
		t.Errorf("%d requests arrived at another host", n)
	}
}

// TestWords wants errors and damage in words, with the result that there is.
func TestWords(t *testing.T) {
	p := open(t, serve(t))
	folder := t.TempDir()
	whole, err := os.ReadFile(capture(t, "router-in.pcap"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, status, failure string
		content               []byte
	}{
		{"notes.txt", "Failed.", "notes.txt", []byte("no capture, but some text\n")},
		{"empty.pcap", "Failed.", "empty.pcap", nil},
		{"-cut.pcap", "Done:", "_cut.pcap", whole[:len(whole)-10]},
	} {
		name := filepath.Join(folder, c.name)
		if err := os.WriteFile(name, c.content, 0o600); err != nil {
			t.Fatal(err)
		}
		status, failure := p.choose(name)
		if !strings.HasPrefix(status, c.status) || !strings.Contains(failure, c.failure) || strings.Contains(failure, "goroutine") {
			t.Errorf("%s: %q %q", c.name, status, failure)
		}
		if done := value[bool](p, `!document.getElementById("clean").hidden`); done != strings.HasPrefix(c.status, "Done") {
			t.Errorf("%s: it can be cleaned: %t", c.name, done)
		}
	}
	p.forget()
	p.do(chromedp.SetValue(chromedp.ID("options"), "--window nonsense"), chromedp.Click(chromedp.CSS("#clean button")))
	if status, failure := p.ended(); status != "Failed." || !strings.Contains(failure, "--window") {
		t.Errorf("a bad option: %q %q", status, failure)
	}
}

// large writes a capture of this many bytes: packets of 60 kB, each of which comes twice.
func large(t *testing.T, size int) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "large.pcap")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	const frame = 60_000
	head := binary.LittleEndian.AppendUint32(nil, 0xa1b2c3d4)
	head = binary.LittleEndian.AppendUint16(head, 2)
	head = binary.LittleEndian.AppendUint16(head, 4)
	head = append(head, make([]byte, 8)...)
	head = binary.LittleEndian.AppendUint32(head, 1<<18)
	head = binary.LittleEndian.AppendUint32(head, 1)
	if _, err := file.Write(head); err != nil {
		t.Fatal(err)
	}
	record := make([]byte, 16+frame)
	binary.LittleEndian.PutUint32(record[8:], frame)
	binary.LittleEndian.PutUint32(record[12:], frame)
	data := record[16:]
	copy(data[12:], "\x08\x00\x45\x00")
	binary.BigEndian.PutUint16(data[16:], frame-14)
	data[22], data[23] = 64, 17
	copy(data[26:], "\x0a\x00\x00\x01\x0a\x00\x00\x02")
	for i := range size / len(record) {
		binary.LittleEndian.PutUint32(record, uint32(i/1000))
		binary.LittleEndian.PutUint32(record[4:], uint32(i%1000*1000))
		binary.BigEndian.PutUint32(data[42:], uint32(i/2))
		if _, err := file.Write(record); err != nil {
			t.Fatal(err)
		}
	}
	return name
}

// largest is the size of the capture of TestLarge: FLOWDEDUP_BROWSER_LARGE in MB, or just
// enough to be written to a file.
func largest(t *testing.T) int {
	t.Helper()
	text := os.Getenv("FLOWDEDUP_BROWSER_LARGE")
	if text == "" {
		return 270_000_000
	}
	megabytes, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return megabytes * 1_000_000
}

// block is how many bytes of a large result are digested at once.
const block = 64 << 20

// TestLarge writes a large result into a file that a person would choose. No person is there,
// so it is the browser's own.
func TestLarge(t *testing.T) {
	name := large(t, largest(t))
	p := open(t, serve(t))
	began := time.Now()
	if status, failure := p.choose(name); !strings.HasPrefix(status, "Done") {
		t.Fatalf("%s %s", status, failure)
	}
	inspected := time.Now()
	p.do(chromedp.Evaluate[chromedp.Void](`window.showSaveFilePicker = async ({ suggestedName }) =>
		window.chosenFile = await (await navigator.storage.getDirectory()).getFileHandle(suggestedName, { create: true }); undefined`))
	options := p.clean(key)
	t.Logf("inspected in %v, cleaned in %v", inspected.Sub(began), time.Since(inspected))
	if status, _ := p.status(); !strings.Contains(status, "large-clean.pcapng is saved") {
		t.Errorf("status: %s", status)
	}
	sums := value[[]string](p, `(async () => {
		const file = await chosenFile.getFile(), sums = [];
		for (let at = 0; at < file.size; at += `+strconv.Itoa(block)+`) {
			const sum = await crypto.subtle.digest("SHA-256", await file.slice(at, at + `+strconv.Itoa(block)+`).arrayBuffer());
			sums.push([...new Uint8Array(sum)].map((b) => b.toString(16).padStart(2, "0")).join(""));
		}
		return sums;
	})()`)
	if want := sumsOf(t, options, name); strings.Join(sums, "\n") != strings.Join(want, "\n") {
		t.Errorf("digests of blocks: %q, want %q", sums, want)
	}
}

// sumsOf digests each block of what the native program writes.
func sumsOf(t *testing.T, options []string, input string) (sums []string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out.pcapng")
	args := append([]string{"dedup", "-q", "-w", out, input}, options...)
	if text, err := exec.Command(native, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, text)
	}
	file, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for {
		digest := sha256.New()
		n, err := io.CopyN(digest, file, block)
		if n > 0 {
			sums = append(sums, hex.EncodeToString(digest.Sum(nil)))
		}
		if err != nil {
			return sums
		}
	}
}

// TestCancel cancels a run as soon as it can be cancelled. The page takes other captures then.
func TestCancel(t *testing.T) {
	name := large(t, 200_000_000)
	p := open(t, serve(t))
	p.do(chromedp.SetUploadFiles(chromedp.ID("files"), []string{name}))
	p.until(`document.getElementById("progress").position > 0`)
	p.do(chromedp.Click(chromedp.ID("cancel")))
	if status, failure := p.ended(); status != "Cancelled." || failure != "" {
		t.Fatalf("status %q, %q", status, failure)
	}
	if value[bool](p, `document.getElementById("running").hidden`) != true {
		t.Error("the progress of a run that was cancelled is shown")
	}
	small := capture(t, "router-in.pcap")
	if status, failure := p.choose(small); !strings.HasPrefix(status, "Done") {
		t.Fatalf("%s %s", status, failure)
	}
	options := p.clean(key)
	if got := p.save(); !bytes.Equal(got, reference(t, options, small)) {
		t.Errorf("%d other bytes with %q", len(got), options)
	}
}

// slow makes the results of a run wait for all timers that the program left at its end.
const slow = `
const pending = new Set(), set = setTimeout, clear = clearTimeout, text = Blob.prototype.text;
globalThis.setTimeout = (call, delay) => {
	const id = set(() => { pending.delete(id); call(); }, delay);
	pending.add(id);
	return id;
};
globalThis.clearTimeout = (id) => { pending.delete(id); clear(id); };
Blob.prototype.text = async function () {
	while (pending.size > 0) await new Promise((done) => set(done, 10));
	return text.call(this);
};
`

// TestTimersLeft lets all timers that the program left at its end fire before there is a result:
// none may reach the program, as it is over.
func TestTimersLeft(t *testing.T) {
	files := http.FileServer(http.Dir(site))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/worker.js" {
			files.ServeHTTP(w, r)
			return
		}
		text, err := os.ReadFile(filepath.Join(site, "worker.js"))
		if err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(w, slow+string(text)) // without it the page says so
	}))
	t.Cleanup(server.Close)
	p := open(t, server.URL)
	if status, failure := p.choose(large(t, 60_000_000)); !strings.HasPrefix(status, "Done") {
		t.Errorf("%s %s", status, failure)
	}
}
