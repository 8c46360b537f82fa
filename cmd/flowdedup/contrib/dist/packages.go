// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers the format
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // registers the format
)

// triples are Debian's names of folders for a processor (multiarch).
var triples = map[string]string{
	"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu", "arm": "arm-linux-gnueabihf",
	"riscv64": "riscv64-linux-gnu", "s390x": "s390x-linux-gnu",
}

const maintainer = "The authors of flowdedup <flowdedup@users.noreply.github.com>"

// packages makes a deb and an rpm of each product, for each processor of Linux.
func (r *release) packages(platforms []platform) error {
	for _, p := range products {
		if err := r.changelog(p); err != nil {
			return err
		}
	}
	return r.each(platforms, func(p *product, on platform) error {
		if on.os != "linux" {
			return nil
		}
		for _, format := range []string{"deb", "rpm"} {
			if err := r.pack(p, on, format); err != nil {
				return fmt.Errorf("%s of %s for %v: %w", format, p.name, on, err)
			}
		}
		return nil
	})
}

// units returns the paths of a product's units of systemd, for programs in /usr/bin.
func (r *release) units(p *product) (units []string, err error) {
	for _, pattern := range []string{p.name + ".service", p.name + "@.service", p.name + "-*@.service"} {
		found, err := filepath.Glob(r.contrib(pattern))
		if err != nil {
			return nil, err
		}
		for _, from := range found {
			text, err := os.ReadFile(from)
			if err != nil {
				return nil, err
			}
			to := r.document("units", p.name, filepath.Base(from))
			if err := write(to, bytes.ReplaceAll(text, []byte("/usr/local/bin/"), []byte("/usr/bin/"))); err != nil {
				return nil, err
			}
			units = append(units, to)
		}
	}
	return units, nil
}

// changelog writes Debian's record of a version; the changes are in the manual.
func (r *release) changelog(p *product) error {
	text := fmt.Sprintf("%s (%s-1) stable; urgency=medium\n\n  * See changes.md.\n\n -- %s  %s\n", p.name, r.version, maintainer, r.time.Format(time.RFC1123Z))
	plain := r.document("changelog", p.name)
	if err := write(plain, []byte(text)); err != nil {
		return err
	}
	return compress(plain, plain+".gz")
}

// contrib returns the path of a file next to this module.
func (r *release) contrib(name string) string {
	return filepath.Join(r.root, "cmd/flowdedup/contrib", name)
}

// homepage is where the project is.
const homepage = "https://github.com/flowdedup/flowdedup"

// pack makes a package.
func (r *release) pack(p *product, on platform, format string) error {
	contents, err := r.contents(p, on, format)
	if err != nil {
		return err
	}
	script := func(when string) string { return r.contrib("dist/scripts/" + p.name + "." + when) }
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: p.name, Arch: on.arch + on.arm, Platform: "linux", Version: r.version, VersionSchema: "none", Release: "1",
		Section: "net", Priority: "optional", Maintainer: maintainer, Homepage: homepage, License: licence, MTime: r.time,
		Description: p.summary + "\n" + p.about,
		Overridables: nfpm.Overridables{
			Suggests: p.suggests[format], Contents: contents,
			Scripts: nfpm.Scripts{PostInstall: script("postinst"), PreRemove: script("prerm"), PostRemove: script("postrm")},
			RPM:     nfpm.RPM{BuildHost: "localhost", Summary: capital(p.summary), Compression: "gzip:9"},
		},
	})
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return err
	}
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	return create(filepath.Join(r.out, packager.ConventionalFileName(info)), func(w io.Writer) error { return packager.Package(info, w) })
}

// capital returns a sentence without its dot.
func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// contents returns the files that a package installs, and their places.
func (r *release) contents(p *product, on platform, format string) (files.Contents, error) {
	var list files.Contents
	add := func(from, to string, mode os.FileMode, kind string) {
		list = append(list, &files.Content{Source: from, Destination: to, Type: kind, FileInfo: &files.ContentFileInfo{Mode: mode, MTime: r.time, Owner: "root", Group: "root"}})
	}
	add(r.program(p, on), "/usr/bin/"+p.name, 0o755, "")
	pages, err := r.pages(p)
	if err != nil {
		return nil, err
	}
	for _, page := range pages {
		name := filepath.Base(page)
		add(page, "/usr/share/man/man"+name[len(name)-len("1.gz"):len(name)-len(".gz")]+"/"+name, 0o644, "")
	}
	zsh, extcap := "/usr/share/zsh/site-functions/_", "/usr/lib64/wireshark/extcap"
	if format == "deb" {
		zsh, extcap = "/usr/share/zsh/vendor-completions/_", "/usr/lib/"+triples[on.arch]+"/wireshark/extcap"
		add(r.contrib("dist/lintian/"+p.name), "/usr/share/lintian/overrides/"+p.name, 0o644, "")
	}
	for shell, to := range map[string]string{
		"bash": "/usr/share/bash-completion/completions/" + p.name, "zsh": zsh + p.name, "fish": "/usr/share/fish/vendor_completions.d/" + p.name + ".fish",
	} {
		add(r.document("completion", p.name, shell), to, 0o644, "")
	}
	if p.extcap {
		add(strings.Repeat("../", strings.Count(extcap, "/")-1)+"bin/"+p.name, extcap+"/"+p.name+"-extcap", 0, files.TypeSymlink)
	}
	units, err := r.units(p)
	if err != nil {
		return nil, err
	}
	for _, unit := range units {
		add(unit, "/usr/lib/systemd/system/"+filepath.Base(unit), 0o644, "")
	}
	if p.config != "" {
		add("", p.config, 0o755, files.TypeDir)
	}
	doc := "/usr/share/doc/" + p.name + "/"
	for name, from := range p.examples {
		add(r.contrib(from), doc+"examples/"+name, 0o644, "")
	}
	add(filepath.Join(r.root, "cmd/flowdedup/doc/changes.md"), doc+"changes.md", 0o644, "")
	add(r.contrib("dist/copyright"), doc+"copyright", 0o644, "")
	add(r.document("changelog", p.name+".gz"), doc+"changelog.Debian.gz", 0o644, "")
	add(r.document("licences", p.name), doc+"THIRD-PARTY-LICENSES", 0o644, "")
	return list, nil
}
