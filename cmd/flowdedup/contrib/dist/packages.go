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

// units are the services of systemd: of live, and of flows.
var units = []string{"flowdedup@.service", "flowdedup-flows@.service"}

// packages makes a deb and an rpm for each processor of Linux.
func (r *release) packages(platforms []platform) error {
	for _, name := range units {
		unit, err := os.ReadFile(r.contrib(name))
		if err != nil {
			return err
		}
		unit = bytes.ReplaceAll(unit, []byte("/usr/local/bin/"), []byte("/usr/bin/"))
		if err := write(r.document("units", name), unit); err != nil {
			return err
		}
	}
	if err := r.changelog(); err != nil {
		return err
	}
	for _, p := range platforms {
		if p.os != "linux" {
			continue
		}
		for _, format := range []string{"deb", "rpm"} {
			if err := r.pack(p, format); err != nil {
				return fmt.Errorf("%s for %v: %w", format, p, err)
			}
		}
	}
	return nil
}

// changelog writes what Debian wants to know of a version; the changes are in the manual.
func (r *release) changelog() error {
	text := fmt.Sprintf("flowdedup (%s-1) stable; urgency=medium\n\n  * See changes.md.\n\n -- %s  %s\n", r.version, maintainer, r.time.Format(time.RFC1123Z))
	if err := write(r.document("changelog"), []byte(text)); err != nil {
		return err
	}
	return compress(r.document("changelog"), r.document("changelog.gz"))
}

// contrib returns the path of a file beside this module.
func (r *release) contrib(name string) string {
	return filepath.Join(r.root, "cmd/flowdedup/contrib", name)
}

// pack makes one package.
func (r *release) pack(p platform, format string) error {
	contents, err := r.contents(p, format)
	if err != nil {
		return err
	}
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "flowdedup", Arch: p.arch + p.arm, Platform: "linux", Version: r.version, VersionSchema: "none", Release: "1",
		Section: "net", Priority: "optional", Maintainer: maintainer,
		Homepage: "https://github.com/flowdedup/flowdedup", License: "Apache-2.0", MTime: r.time,
		Description: "duplicate packets out of captures and live traffic\n" +
			"Removes packets that a SPAN port or tap delivered twice from pcap and pcapng\n" +
			"files and from live traffic, and counts distinct addresses and flows per hour.",
		Overridables: nfpm.Overridables{
			Suggests: []string{"tcpdump", "libcap2-bin"}, // for filter expressions, and to set a capability
			Contents: contents,
			Scripts: nfpm.Scripts{
				PostInstall: r.contrib("dist/postinst"), PreRemove: r.contrib("dist/prerm"), PostRemove: r.contrib("dist/postrm"),
			},
			RPM: nfpm.RPM{BuildHost: "localhost", Summary: "Duplicate packets out of captures and live traffic", Compression: "gzip:9"},
		},
	})
	if format == "rpm" {
		info.Overridables.Suggests = []string{"tcpdump", "libcap"}
	}
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return err
	}
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	return create(filepath.Join(r.out, packager.ConventionalFileName(info)), func(w io.Writer) error { return packager.Package(info, w) })
}

// contents returns what a package installs, and where.
func (r *release) contents(p platform, format string) (files.Contents, error) {
	var list files.Contents
	add := func(from, to string, mode os.FileMode, kind string) {
		list = append(list, &files.Content{Source: from, Destination: to, Type: kind, FileInfo: &files.ContentFileInfo{Mode: mode, MTime: r.time, Owner: "root", Group: "root"}})
	}
	add(r.program(p), "/usr/bin/flowdedup", 0o755, "")
	pages, err := filepath.Glob(r.document("man", "*.gz"))
	if err != nil {
		return nil, err
	}
	for _, page := range pages {
		name := filepath.Base(page)
		add(page, "/usr/share/man/man"+name[len(name)-len("1.gz"):len(name)-len(".gz")]+"/"+name, 0o644, "")
	}
	zsh, extcap := "/usr/share/zsh/site-functions/_flowdedup", "/usr/lib64/wireshark/extcap"
	if format == "deb" {
		zsh, extcap = "/usr/share/zsh/vendor-completions/_flowdedup", "/usr/lib/"+triples[p.arch]+"/wireshark/extcap"
	}
	for shell, to := range map[string]string{
		"bash": "/usr/share/bash-completion/completions/flowdedup", "zsh": zsh, "fish": "/usr/share/fish/vendor_completions.d/flowdedup.fish",
	} {
		add(r.document("completion", shell), to, 0o644, "")
	}
	add(strings.Repeat("../", strings.Count(extcap, "/")-1)+"bin/flowdedup", extcap+"/flowdedup-extcap", 0, files.TypeSymlink)
	for _, name := range units {
		add(r.document("units", name), "/usr/lib/systemd/system/"+name, 0o644, "")
	}
	add("", "/etc/flowdedup", 0o755, files.TypeDir)
	const doc = "/usr/share/doc/flowdedup/"
	add(r.contrib("example.conf"), doc+"examples/eth0.conf", 0o644, "")
	add(r.contrib("example-flows.conf"), doc+"examples/flows-edge.conf", 0o644, "")
	add(r.contrib("grafana-dashboard.json"), doc+"examples/grafana-dashboard.json", 0o644, "")
	add(r.contrib("prometheus-alerts.yml"), doc+"examples/prometheus-alerts.yml", 0o644, "")
	add(filepath.Join(r.root, "cmd/flowdedup/doc/changes.md"), doc+"changes.md", 0o644, "")
	add(r.contrib("dist/copyright"), doc+"copyright", 0o644, "")
	add(r.document("changelog.gz"), doc+"changelog.Debian.gz", 0o644, "")
	add(r.document("doc", "THIRD-PARTY-LICENSES"), doc+"THIRD-PARTY-LICENSES", 0o644, "")
	return list, nil
}
