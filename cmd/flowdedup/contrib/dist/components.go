package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"path/filepath"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// components writes the list of what the program is made of, as CycloneDX 1.6 in JSON.
func (r *release) components([]platform) error {
	modules, err := r.modules()
	if err != nil {
		return err
	}
	goVersion, err := r.output("go", "env", "GOVERSION")
	if err != nil {
		return err
	}
	parts := []cdx.Component{{Type: cdx.ComponentTypeLibrary, BOMRef: "std", Name: "Go standard library", Version: goVersion, PackageURL: "pkg:golang/std@" + goVersion}}
	refs := []string{"std"}
	for _, m := range modules {
		url := "pkg:golang/" + m.Path + "@" + m.Version
		parts = append(parts, cdx.Component{Type: cdx.ComponentTypeLibrary, BOMRef: url, Name: m.Path, Version: m.Version, PackageURL: url, Scope: cdx.ScopeRequired})
		refs = append(refs, url)
	}
	self := "pkg:golang/github.com/flowdedup/flowdedup@" + r.version
	bom := cdx.NewBOM()
	bom.SerialNumber = r.serial()
	bom.Metadata = &cdx.Metadata{
		Timestamp: r.time.Format(time.RFC3339),
		Component: &cdx.Component{
			Type: cdx.ComponentTypeApplication, BOMRef: self, Name: "flowdedup", Version: r.version, PackageURL: self,
			Licenses: &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}},
		},
	}
	bom.Components, bom.Dependencies = &parts, &[]cdx.Dependency{{Ref: self, Dependencies: &refs}}
	return create(filepath.Join(r.out, "flowdedup_"+r.version+".cdx.json"), func(w io.Writer) error {
		return cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
	})
}

// serial returns a UUID (RFC 9562, version 8) that follows from the commit.
func (r *release) serial() string {
	id := sha256.Sum256([]byte("flowdedup " + r.commit))
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:16])
}
