// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// program is the package to compile.
const program = "github.com/flowdedup/flowdedup/cmd/flowdedup"

func main() {
	licences := flag.String("licences", "", "file with the licences of third parties, which the page shows")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: browser [-licences FILE] FOLDER")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *licences); err != nil {
		fmt.Fprintln(os.Stderr, "browser:", err)
		os.Exit(1)
	}
}

// run makes the folder.
func run(folder, licences string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	html := index
	if licences != "" {
		text, err := os.ReadFile(licences)
		if err != nil {
			return err
		}
		html = licensed(html, string(text))
	}
	made, err := parts()
	if err != nil {
		return err
	}
	if made["flowdedup.html"], err = single(html, made); err != nil {
		return err
	}
	made["index.html"] = []byte(policed(html, folderPolicy))
	for name, content := range made {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// parts returns the files of the folder, except the page itself.
func parts() (map[string][]byte, error) {
	wasm, err := compile()
	if err != nil {
		return nil, err
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOROOT: %w", err)
	}
	support, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "lib/wasm/wasm_exec.js"))
	if err != nil {
		return nil, err
	}
	made := map[string][]byte{"flowdedup.wasm.gz": wasm, "wasm_exec.js": support, "style.css": []byte(style())}
	for _, name := range []string{"page.js", "files.js", "worker.js"} {
		if made[name], err = sources.ReadFile(name); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// compile returns the program for browsers, through gzip without name and time: servers of
// static files seldom compress, and the page unpacks it.
func compile() ([]byte, error) {
	folder, err := os.MkdirTemp("", "flowdedup-browser-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	name := filepath.Join(folder, "flowdedup.wasm")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", name, program)
	cmd.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build: %w\n%s", err, out)
	}
	wasm, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(wasm); err != nil {
		return nil, err
	}
	err = z.Close()
	return packed.Bytes(), err
}
