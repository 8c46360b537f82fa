// SPDX-License-Identifier: Apache-2.0

// Command kubernetes renders the chart flowdedup as plain manifests, into the folder manifests.
// Its tests have Helm lint the chart, and read every object by the types of Kubernetes' own
// API. It is a module of its own, so that nobody else needs these libraries.
//
//	go run .
package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
)

const (
	chartFolder     = "flowdedup"
	manifestsFolder = "manifests"
	namespace       = "flowdedup"
)

func main() {
	texts, err := manifests()
	if err == nil {
		err = write(texts)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "kubernetes:", err)
		os.Exit(1)
	}
}

// plain are the plain manifests: the output of the chart with these values, in one file each.
var plain = map[string]map[string]any{
	"sensor.yaml":     {},
	"hub.yaml":        {"sensor": map[string]any{"enabled": false}, "hub": map[string]any{"enabled": true}},
	"podmonitor.yaml": {"sensor": map[string]any{"enabled": false}, "podMonitor": map[string]any{"enabled": true}},
}

// manifests returns the plain manifests, by the names of their files.
func manifests() (map[string]string, error) {
	c, err := loader.Load(chartFolder)
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	for name, values := range plain {
		objects, err := render(c, values)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		var text strings.Builder
		text.WriteString("# Made from the chart ../" + chartFolder + " by \"go run .\" in the folder above: change that.\n")
		if name == "sensor.yaml" {
			text.WriteString(namespaceObject)
		}
		for _, file := range slices.Sorted(maps.Keys(objects)) {
			text.WriteString("---\n" + strings.TrimPrefix(strings.TrimSpace(objects[file]), "---\n") + "\n")
		}
		texts[name] = text.String()
	}
	return texts, nil
}

// namespaceObject is the namespace of the plain manifests. A sensor uses the network of its
// host, and a folder there, which the stricter standards do not permit.
const namespaceObject = `---
apiVersion: v1
kind: Namespace
metadata:
  name: ` + namespace + `
  labels:
    pod-security.kubernetes.io/enforce: privileged
`

// errEmpty is the error of values with which a chart makes nothing.
var errEmpty = errors.New("the chart makes no object")

// render returns the objects that a chart makes with these values, by file; files without
// objects are left out.
func render(c *chart.Chart, values map[string]any) (map[string]string, error) {
	all, err := chartutil.ToRenderValues(c, values, chartutil.ReleaseOptions{Name: "flowdedup", Namespace: namespace, IsInstall: true, Revision: 1}, nil)
	if err != nil {
		return nil, err
	}
	texts, err := engine.Render(c, all)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(texts, func(name, text string) bool {
		return !strings.HasSuffix(name, ".yaml") || strings.TrimSpace(text) == ""
	})
	if len(texts) == 0 {
		return nil, errEmpty
	}
	return texts, nil
}

func write(texts map[string]string) error {
	if err := os.MkdirAll(manifestsFolder, 0o755); err != nil {
		return err
	}
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(manifestsFolder, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
