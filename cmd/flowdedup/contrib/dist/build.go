// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// build builds each product for each platform, and checks the results.
func (r *release) build(platforms []platform) error {
	return r.each(platforms, func(p *product, on platform) error {
		name := r.program(p, on)
		cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=true", "-tags=nethttpomithttp2", "-ldflags=-s -w", "-o", name, p.folder)
		cmd.Dir, cmd.Stderr = filepath.Join(r.root, p.module), os.Stderr
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOOS="+on.os, "GOARCH="+on.arch, "GOARM="+on.arm)
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("build %s for %v: %w", p.name, on, err)
		}
		info, err := os.Stat(name)
		if err != nil {
			return err
		}
		if info.Size() > p.most {
			return fmt.Errorf("%s for %v has %d bytes, more than %d", p.name, on, info.Size(), p.most)
		}
		built, err := buildinfo.ReadFile(name)
		if err != nil {
			return fmt.Errorf("%s for %v: %w", p.name, on, err)
		}
		if err := stamped(built, r.commit); err != nil {
			return fmt.Errorf("%s for %v: %w", p.name, on, err)
		}
		return nil
	})
}

// each calls do for each product and each platform that it runs on.
func (r *release) each(platforms []platform, do func(*product, platform) error) error {
	for _, p := range products {
		for _, on := range platforms {
			if !p.runsOn(on) {
				continue
			}
			if err := do(p, on); err != nil {
				return err
			}
		}
	}
	return nil
}

// errStamp is the error of a program that does not know its commit.
var errStamp = errors.New("the program is not stamped with the commit")

// stamped fails for a program that does not name the commit, or was built from something else.
func stamped(built *buildinfo.BuildInfo, commit string) error {
	found := map[string]string{}
	for _, s := range built.Settings {
		found[s.Key] = s.Value
	}
	if found["vcs.revision"] != commit || found["vcs.modified"] != "false" || built.Main.Version == "(devel)" {
		return fmt.Errorf("%w %s: version %s, revision %q, modified %q", errStamp, commit, built.Main.Version, found["vcs.revision"], found["vcs.modified"])
	}
	return nil
}

// program returns the path of a built program.
func (r *release) program(p *product, on platform) string {
	return filepath.Join(r.work, on.name(), p.file(on))
}

// shells are the shells with completion scripts.
var shells = []string{"bash", "zsh", "fish"}

// documents makes the files that are the same for all platforms: man pages, completions, the
// licences of third parties. It goes into the folder "documents".
func (r *release) documents([]platform) error {
	if err := r.manuals(); err != nil {
		return err
	}
	for _, p := range products {
		for _, shell := range shells {
			text, err := r.outputIn(p.module, "go", "run", p.folder, "completion", shell)
			if err != nil {
				return err
			}
			if err := write(r.document("completion", p.name, shell), []byte(text+"\n")); err != nil {
				return err
			}
		}
		text, err := r.licences(p)
		if err != nil {
			return err
		}
		if err := write(r.document("licences", p.name), text); err != nil {
			return err
		}
	}
	return nil
}

// manuals makes the man pages of all products.
func (r *release) manuals() error {
	pages := filepath.Join(r.work, "man")
	if _, err := r.output("go", "run", "./cmd/flowdedup/doc/man", pages); err != nil {
		return err
	}
	hub, err := r.outputIn("engine/cluster", "go", "run", "./cmd/flowdedup-hub", "man")
	if err != nil {
		return err
	}
	if err := write(filepath.Join(pages, "flowdedup-hub.1"), []byte(hub+"\n")); err != nil {
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
	return nil
}

// pages returns the paths of a product's man pages, compressed.
func (r *release) pages(p *product) ([]string, error) {
	all, err := filepath.Glob(r.document("man", "*.gz"))
	return slices.DeleteFunc(all, func(page string) bool { return !p.owns(page) }), err
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

// create creates a file, and its folder, with the content that fill writes.
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

// browser makes the program for browsers, and packs its folder.
func (r *release) browser([]platform) error {
	licences := r.document("licences", "flowdedup")
	folder := filepath.Join(r.work, "browser")
	if _, err := r.output("go", "run", "./cmd/flowdedup/contrib/browser", "-licences", licences, folder); err != nil {
		return err
	}
	if err := namesCommit(filepath.Join(folder, "flowdedup.wasm.gz"), r.commit); err != nil {
		return err
	}
	list := []entry{
		{"LICENSE", filepath.Join(r.root, "LICENSE"), false},
		{"THIRD-PARTY-LICENSES", licences, false},
	}
	files, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, file := range files {
		list = append(list, entry{file.Name(), filepath.Join(folder, file.Name()), false})
	}
	name := "flowdedup_" + r.version + "_browser"
	return r.zip(filepath.Join(r.out, name+".zip"), name, list)
}

// namesCommit is stamped for WebAssembly, whose build information package buildinfo cannot read.
func namesCommit(name, commit string) error {
	packed, err := os.Open(name)
	if err != nil {
		return err
	}
	defer packed.Close()
	plain, err := gzip.NewReader(packed)
	if err != nil {
		return err
	}
	program, err := io.ReadAll(plain)
	if err != nil {
		return err
	}
	if !bytes.Contains(program, []byte("vcs.revision="+commit)) || !bytes.Contains(program, []byte("vcs.modified=false")) {
		return fmt.Errorf("%s: %w %s", filepath.Base(name), errStamp, commit)
	}
	return nil
}
