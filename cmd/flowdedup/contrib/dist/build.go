package main

import (
	"compress/gzip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// mostBytes is how large a program may be; that for s390x, whose code takes more bytes, 3 %
// more.
const mostBytes = 20_000_000

// build builds the program for each platform.
func (r *release) build(platforms []platform) error {
	for _, p := range platforms {
		cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", r.program(p), "./cmd/flowdedup")
		cmd.Dir, cmd.Stderr = r.root, os.Stderr
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOOS="+p.os, "GOARCH="+p.arch, "GOARM="+p.arm)
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("build %v: %w", p, err)
		}
		info, err := os.Stat(r.program(p))
		if err != nil {
			return err
		}
		most := int64(mostBytes)
		if p.arch == "s390x" {
			most += most * 3 / 100
		}
		if info.Size() > most {
			return fmt.Errorf("%v: the program has %d bytes, more than %d", p, info.Size(), most)
		}
	}
	return nil
}

// program returns the path of a built program.
func (r *release) program(p platform) string { return filepath.Join(r.work, p.name(), p.program()) }

// shells are those that complete command lines.
var shells = []string{"bash", "zsh", "fish"}

// papers makes what is read and not run, and is the same for all platforms: man pages,
// completions, the licences of third parties. It goes into the folder "papers".
func (r *release) papers([]platform) error {
	pages := filepath.Join(r.work, "man")
	if _, err := r.output("go", "run", "./cmd/flowdedup/doc/man", pages); err != nil {
		return err
	}
	manuals, err := filepath.Glob(filepath.Join(pages, "*.[17]"))
	if err != nil {
		return err
	}
	for _, page := range manuals {
		if err := compress(page, r.paper("man", filepath.Base(page)+".gz")); err != nil {
			return err
		}
	}
	for _, shell := range shells {
		text, err := r.output("go", "run", "./cmd/flowdedup", "completion", shell)
		if err != nil {
			return err
		}
		if err := write(r.paper("completion", shell), []byte(text+"\n")); err != nil {
			return err
		}
	}
	text, err := r.licences()
	if err != nil {
		return err
	}
	return write(r.paper("doc", "THIRD-PARTY-LICENSES"), text)
}

// paper returns the path of a file that papers makes.
func (r *release) paper(parts ...string) string {
	return filepath.Join(slices.Concat([]string{r.work, "papers"}, parts)...)
}

// write writes a file, and makes its folder.
func write(name string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, content, 0o644)
}

// compress writes a file through gzip, without name and time.
func compress(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(content); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return f.Close()
}
