package main

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// mostBytes is how large a program may be. One that calls methods by names that it computes,
// as html/template does, has 3 MB more, since the linker keeps every method then.
const mostBytes = 18_000_000

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
		if info.Size() > mostBytes {
			return fmt.Errorf("%v: the program has %d bytes, more than %d", p, info.Size(), mostBytes)
		}
	}
	return nil
}

// program returns the path of a built program.
func (r *release) program(p platform) string { return filepath.Join(r.work, p.name(), p.program()) }

// shells are those that complete command lines.
var shells = []string{"bash", "zsh", "fish"}

// documents makes what is read and not run, and is the same for all platforms: man pages,
// completions, the licences of third parties. It goes into the folder "documents".
func (r *release) documents([]platform) error {
	pages := filepath.Join(r.work, "man")
	if _, err := r.output("go", "run", "./cmd/flowdedup/doc/man", pages); err != nil {
		return err
	}
	manuals, err := filepath.Glob(filepath.Join(pages, "*.[17]"))
	if err != nil {
		return err
	}
	for _, page := range manuals {
		if err := compress(page, r.document("man", filepath.Base(page)+".gz")); err != nil {
			return err
		}
	}
	for _, shell := range shells {
		text, err := r.output("go", "run", "./cmd/flowdedup", "completion", shell)
		if err != nil {
			return err
		}
		if err := write(r.document("completion", shell), []byte(text+"\n")); err != nil {
			return err
		}
	}
	text, err := r.licences()
	if err != nil {
		return err
	}
	return write(r.document("doc", "THIRD-PARTY-LICENSES"), text)
}

// document returns the path of a file that documents makes.
func (r *release) document(parts ...string) string {
	return filepath.Join(slices.Concat([]string{r.work, "documents"}, parts)...)
}

// write writes a file, and makes its folder.
func write(name string, content []byte) error {
	return create(name, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// create creates a file, and its folder, with what fill writes.
func create(name string, fill func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := fill(f); err != nil {
		return err
	}
	return f.Close()
}

// compressed is create, through gzip without name and time.
func compressed(name string, fill func(io.Writer) error) error {
	return create(name, func(w io.Writer) error {
		z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
		if err != nil {
			return err
		}
		if err := fill(z); err != nil {
			return err
		}
		return z.Close()
	})
}

// compress writes a file through gzip.
func compress(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return compressed(to, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}
