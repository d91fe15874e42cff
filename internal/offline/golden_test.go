// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write what the golden tests give into their files")

// goldenOptions is the file options.yaml of a case. Paths are relative to the folder of the case.
type goldenOptions struct {
	Installation string   `json:"installation,omitempty"`
	Recursive    bool     `json:"recursive,omitempty"`
	Components   string   `json:"components,omitempty"`
	Blueprints   []string `json:"blueprints,omitempty"`
	Exports      string   `json:"exports,omitempty"`
	ShowSecrets  bool     `json:"showSecrets,omitempty"`
}

// TestGolden renders each folder of testdata/cases: in.yaml with options.yaml becomes out.yaml. Run it with -update to
// write out.yaml, and read the difference before committing it.
func TestGolden(t *testing.T) {
	cases, err := filepath.Glob("testdata/cases/*")
	if err != nil || len(cases) < 20 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	for _, folder := range cases {
		t.Run(filepath.Base(folder), func(t *testing.T) { golden(t, folder) })
	}
}

func golden(t *testing.T, folder string) {
	got := renderCase(t, folder)
	if again := renderCase(t, folder); again != got {
		t.Errorf("it renders differently each time: %s", cmp.Diff(got, again))
	}
	file := filepath.Join(folder, "out.yaml")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if difference := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); difference != "" {
		t.Errorf("%s differs (- want, + got):\n%s", file, difference)
	}
}

// renderCase returns manifests, warnings and the rest of the result in one text.
func renderCase(t *testing.T, folder string) string {
	t.Helper()
	var out bytes.Buffer
	result, options, err := resultOfCase(t, folder)
	if err != nil {
		comment(&out, "error: "+strings.ReplaceAll(err.Error(), folder+string(filepath.Separator), ""))
		return out.String()
	}
	for _, warning := range result.Warnings {
		comment(&out, "warning: "+strings.ReplaceAll(warning, folder+string(filepath.Separator), ""))
	}
	for _, waiting := range result.Waiting {
		comment(&out, waiting)
	}
	manifests, err := result.Manifests(options.ShowSecrets)
	if err != nil {
		t.Fatal(err)
	}
	if err := Write(&out, FormatYAML, manifests); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func comment(out *bytes.Buffer, text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintln(out, strings.TrimRight("# "+line, " \n"))
	}
}

func resultOfCase(t *testing.T, folder string) (*Result, goldenOptions, error) {
	t.Helper()
	var options goldenOptions
	text, err := os.ReadFile(filepath.Join(folder, "options.yaml"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, &options); err != nil {
		t.Fatal(err)
	}
	in := filepath.Join(folder, "in.yaml")
	manifests := NewManifests("default")
	if err := manifests.ReadPaths([]string{in}, nil); err != nil {
		return nil, options, err
	}
	var components string
	if options.Components != "" {
		components = filepath.Join(folder, options.Components)
	}
	var blueprints []string
	for _, assignment := range options.Blueprints {
		name, dir, _ := strings.Cut(assignment, "=")
		blueprints = append(blueprints, name+"="+filepath.Join(folder, dir))
	}
	library, err := OpenLibrary(components, blueprints)
	if err != nil {
		return nil, options, err
	}
	var exports GivenExports
	if options.Exports != "" {
		if exports, err = ReadExports(filepath.Join(folder, options.Exports)); err != nil {
			return nil, options, err
		}
	}
	result, err := Render(t.Context(), manifests, Options{
		Installation: options.Installation, Recursive: options.Recursive, Library: library, Exports: exports,
	})
	return result, options, err
}
