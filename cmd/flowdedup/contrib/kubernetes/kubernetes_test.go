// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// kinds are the types of the API by the kinds of objects: an object with a field that its type
// does not have is wrong.
var kinds = map[string]func() any{
	"Namespace":             func() any { return &core.Namespace{} },
	"Service":               func() any { return &core.Service{} },
	"PersistentVolumeClaim": func() any { return &core.PersistentVolumeClaim{} },
	"DaemonSet":             func() any { return &apps.DaemonSet{} },
	"Deployment":            func() any { return &apps.Deployment{} },
	"PodMonitor":            func() any { return &monitoring.PodMonitor{} },
}

// objects reads the objects of a file of YAML, strictly.
func objects(t *testing.T, text string) (all []any) {
	t.Helper()
	for in := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text))); ; {
		document, err := in.Read()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		var head struct{ Kind string }
		if err := yaml.Unmarshal(document, &head); err != nil {
			t.Fatalf("%v: %s", err, document)
		}
		if head.Kind == "" {
			continue // comments
		}
		made := kinds[head.Kind]
		if made == nil {
			t.Errorf("no type for %s", head.Kind)
			continue
		}
		object := made()
		if err := yaml.UnmarshalStrict(document, object); err != nil {
			t.Errorf("%s: %v", head.Kind, err)
		}
		all = append(all, object)
	}
}

// load loads the chart.
func load(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := loader.Load(chartFolder)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// everything are values that reach every part of the chart.
var everything = map[string]any{
	"image": map[string]any{"tag": "1.2.3", "pullSecrets": []any{map[string]any{"name": "registry"}}},
	"sensor": map[string]any{
		"interfaces": []any{"eth0", "br-lan"}, "args": []any{"--of", "src,dst", "-w", "/data/clean.pcapng"}, "hub": map[string]any{"tokens": "tokens"},
		"tolerations": []any{map[string]any{"operator": "Exists"}}, "priorityClassName": "high", "podAnnotations": map[string]any{"a": "b"},
		"affinity": map[string]any{"nodeAffinity": map[string]any{}},
	},
	"hub": map[string]any{
		"enabled": true, "args": []any{"--journal"}, "url": "nats://hub.example.org:4222", "podAnnotations": map[string]any{"a": "b"},
		"service":     map[string]any{"type": "LoadBalancer", "annotations": map[string]any{"a": "b"}},
		"persistence": map[string]any{"storageClass": "fast"}, "tolerations": []any{map[string]any{"operator": "Exists"}}, "affinity": map[string]any{"podAffinity": map[string]any{}},
	},
	"podMonitor": map[string]any{"enabled": true, "labels": map[string]any{"release": "prometheus"}},
}

// TestChart has Helm lint the chart, with the values of the plain manifests and with all, and
// reads what it makes.
func TestChart(t *testing.T) {
	for name, values := range map[string]map[string]any{"sensor": plain["sensor.yaml"], "hub": plain["hub.yaml"], "podmonitor": plain["podmonitor.yaml"], "everything": everything} {
		for _, m := range lint.All(chartFolder, values, namespace, true).Messages {
			if m.Severity > support.InfoSev {
				t.Errorf("%s: %v", name, m)
			}
		}
		made, err := render(load(t), values)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, text := range made {
			for _, object := range objects(t, text) {
				judge(t, object)
			}
		}
	}
	for name, wrong := range map[string]map[string]any{
		"a misspelt value": {"sensor": map[string]any{"interface": "eth0"}},
		"no interface":     {"sensor": map[string]any{"interfaces": []any{}}},
		"memory":           {"hub": map[string]any{"enabled": true, "memory": "much"}},
		"nothing":          {"sensor": map[string]any{"enabled": false}},
	} {
		if _, err := render(load(t), wrong); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

// judge looks at what types do not say.
func judge(t *testing.T, object any) {
	t.Helper()
	switch o := object.(type) {
	case *apps.DaemonSet:
		named(t, o.Name, o.Spec.Selector.MatchLabels, o.Spec.Template.Labels)
		spec := o.Spec.Template.Spec
		c := spec.Containers[0]
		if !spec.HostNetwork || !slices.Equal(c.SecurityContext.Capabilities.Add, []core.Capability{"NET_RAW"}) || !slices.Equal(c.SecurityContext.Capabilities.Drop, []core.Capability{"ALL"}) {
			t.Errorf("%s: host's network %v, capabilities %v", o.Name, spec.HostNetwork, c.SecurityContext.Capabilities)
		}
		pod(t, o.Name, &spec)
	case *apps.Deployment:
		named(t, o.Name, o.Spec.Selector.MatchLabels, o.Spec.Template.Labels)
		if *o.Spec.Replicas != 1 || o.Spec.Strategy.Type != apps.RecreateDeploymentStrategyType {
			t.Errorf("%s: %d replicas, %s: two hubs cannot share a folder", o.Name, *o.Spec.Replicas, o.Spec.Strategy.Type)
		}
		if !*o.Spec.Template.Spec.SecurityContext.RunAsNonRoot || len(o.Spec.Template.Spec.Containers[0].SecurityContext.Capabilities.Add) > 0 {
			t.Errorf("%s has rights", o.Name)
		}
		pod(t, o.Name, &o.Spec.Template.Spec)
	case *monitoring.PodMonitor:
		if len(o.Spec.PodMetricsEndpoints) != 1 || *o.Spec.PodMetricsEndpoints[0].Port != "http" {
			t.Errorf("%s: endpoints %v", o.Name, o.Spec.PodMetricsEndpoints)
		}
	}
}

// named checks a name, and that a selector finds its pods.
func named(t *testing.T, name string, selector, labels map[string]string) {
	t.Helper()
	if wrong := validation.IsDNS1123Label(name); len(wrong) > 0 {
		t.Errorf("%s: %v", name, wrong)
	}
	for key, value := range selector {
		if labels[key] != value {
			t.Errorf("%s selects %s=%s, and its pods have %q", name, key, value, labels[key])
		}
	}
}

// pod checks that a container has probes, resources and no more rights than it needs, and that
// volumes and ports that are named exist.
func pod(t *testing.T, name string, spec *core.PodSpec) {
	t.Helper()
	c := spec.Containers[0]
	if c.LivenessProbe == nil || c.ReadinessProbe == nil || c.StartupProbe == nil || c.LivenessProbe.HTTPGet.Path != "/healthz" {
		t.Errorf("%s: probes %v, %v, %v", name, c.LivenessProbe, c.ReadinessProbe, c.StartupProbe)
	}
	if c.Resources.Requests.Cpu().IsZero() || c.Resources.Requests.Memory().IsZero() || c.Resources.Limits.Memory().IsZero() {
		t.Errorf("%s: resources %v", name, c.Resources)
	}
	if *c.SecurityContext.AllowPrivilegeEscalation || !*c.SecurityContext.ReadOnlyRootFilesystem || *spec.AutomountServiceAccountToken {
		t.Errorf("%s has rights that it does not need", name)
	}
	for _, mount := range c.VolumeMounts {
		if !slices.ContainsFunc(spec.Volumes, func(v core.Volume) bool { return v.Name == mount.Name }) {
			t.Errorf("%s mounts %s, which does not exist", name, mount.Name)
		}
	}
	for _, probe := range []*core.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		port := ""
		if probe.HTTPGet != nil {
			port = probe.HTTPGet.Port.StrVal
		} else {
			port = probe.TCPSocket.Port.StrVal
		}
		if !slices.ContainsFunc(c.Ports, func(p core.ContainerPort) bool { return p.Name == port }) {
			t.Errorf("%s probes the port %s, which does not exist", name, port)
		}
	}
}

// TestManifests compares the plain manifests with what the chart makes, and reads them.
func TestManifests(t *testing.T) {
	texts, err := manifests()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range texts {
		got, err := os.ReadFile(filepath.Join(manifestsFolder, name))
		if err != nil || string(got) != want {
			t.Errorf("%s is not what the chart makes: go run . (%v)", name, err)
		}
		if len(objects(t, want)) == 0 {
			t.Errorf("%s has no objects", name)
		}
	}
	files, err := filepath.Glob(filepath.Join(manifestsFolder, "*"))
	if err != nil || len(files) != len(texts) {
		t.Errorf("%v, %v", files, err)
	}
}

// TestArguments has each program read the flags that the chart gives it.
func TestArguments(t *testing.T) {
	made, err := render(load(t), everything)
	if err != nil {
		t.Fatal(err)
	}
	run := 0
	for _, text := range made {
		for _, object := range objects(t, text) {
			var spec core.PodSpec
			var folder, program string
			switch o := object.(type) {
			case *apps.DaemonSet:
				spec, folder, program = o.Spec.Template.Spec, "../../../..", "./cmd/flowdedup"
			case *apps.Deployment:
				spec, folder, program = o.Spec.Template.Spec, "../../../../engine/cluster", "./cmd/flowdedup-hub"
			default:
				continue
			}
			run++
			args := []string{"run", program}
			for _, arg := range spec.Containers[0].Args {
				args = append(args, strings.ReplaceAll(arg, "$(NODE_ADDRESS)", "192.0.2.1"))
			}
			cmd := exec.Command("go", append(args, "--help")...) // flags are read, and nothing runs
			cmd.Dir = folder
			var said bytes.Buffer
			cmd.Stderr = &said
			if err := cmd.Run(); err != nil {
				t.Errorf("%s %q: %v: %s", program, spec.Containers[0].Args, err, said.String())
			}
		}
	}
	if run != 2 {
		t.Errorf("%d programs", run)
	}
}
