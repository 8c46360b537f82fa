package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSameOutput wants -w and --duplicates refused when they lead to one file,
// since the one committed last would take the place of the other.
func TestSameOutput(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	path := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"file", "hard-1"} {
		if err := os.WriteFile(path(name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(path("hard-1"), path("hard-2")); err != nil {
		t.Skip(err)
	}
	if err := os.Mkdir(path("sub"), 0o777); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{
		"link": "file", "link-to-link": "link", "dangling": "missing", "sub/up": "../missing", "folder": "sub", "loop": "loop",
	} {
		if err := os.Symlink(to, path(link)); err != nil {
			t.Skip(err)
		}
	}
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"file", "", false},
		{"file", "./file", true},
		{"file", path("file"), true},
		{"file", "sub/../file", true},
		{"file", "link", true},
		{"file", "link-to-link", true},
		{"missing", "dangling", true},
		{"missing", "sub/up", true},
		{"sub/new", "folder/new", true},
		{"-", "/dev/stdout", true},
		{"file", "missing", false},
		{"hard-1", "hard-2", false},
		{"loop", "file", false},
		{"-", "file", false},
	} {
		if got := sameOutput(c.a, c.b); got != c.want {
			t.Errorf("sameOutput(%q, %q) = %v, want %v", c.a, c.b, got, c.want)
		}
		if got := sameOutput(c.b, c.a); got != c.want {
			t.Errorf("sameOutput(%q, %q) = %v, want %v", c.b, c.a, got, c.want)
		}
	}
}

// TestCSVKeepsInput refuses a CSV file in the place of a capture.
func TestCSVKeepsInput(t *testing.T) {
	in := filepath.Join(t.TempDir(), "in.pcapng")
	data, err := os.ReadFile(bundled("router-plain.pcapng"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(in, data, 0o666); err != nil {
		t.Fatal(err)
	}
	_, errs, code := run("distinct", "--csv", in, in)
	if code != exitUsage || !strings.Contains(errs, in) {
		t.Errorf("exit code %d, stderr %q", code, errs)
	}
	if now, err := os.ReadFile(in); err != nil || string(now) != string(data) {
		t.Errorf("the input changed: %v", err)
	}
}

// TestNoMemoryForWindow wants an error for a counter that cannot be made.
func TestNoMemoryForWindow(t *testing.T) {
	_, errs, code := run("distinct", "--memory", "64TiB", bundled("router-plain.pcapng"))
	if code != exitFailed || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, "memory") {
		t.Errorf("exit code %d, stderr %q", code, errs)
	}
}
