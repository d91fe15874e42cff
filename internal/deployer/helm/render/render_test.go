// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/common"

	"espalier.dev/internal/deployer/helm/charts"
)

func open(t *testing.T, files map[string]string) *charts.Package {
	t.Helper()
	var buffer bytes.Buffer
	zipped := gzip.NewWriter(&buffer)
	archive := tar.NewWriter(zipped)
	for name, content := range files {
		if err := archive.WriteHeader(&tar.Header{Name: "x/" + name, Mode: 0o600, Size: int64(len(content)), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	_ = archive.Close()
	_ = zipped.Close()
	opened, err := charts.Open(buffer.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return opened
}

const metadata = "apiVersion: v2\nname: testchart\nversion: 1.0.0\n"

func TestFilesKeepTheirNames(t *testing.T) {
	chart := open(t, map[string]string{
		"Chart.yaml": metadata, "values.yaml": "word: quiet",
		"templates/secret.yaml":  "{apiVersion: v1, kind: Secret, metadata: {name: \"{{ .Release.Name }}\"}, stringData: {word: \"{{ .Values.word }}\"}}",
		"templates/note.txt":     "just a text",
		"templates/NOTES.txt":    "for people",
		"templates/nothing.yaml": "{{ if false }}x{{ end }}",
		"templates/_part.tpl":    "{{ define \"x\" }}{{ end }}",
		"crds/a.yaml":            "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a}}",
	})
	result, err := Render(t.Context(), Input{
		Package: chart, Values: map[string]any{"word": "loud"}, Release: common.ReleaseOptions{Name: "r", Namespace: "n", IsInstall: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	names := func(texts []Text) (result []string) {
		for _, text := range texts {
			result = append(result, text.Name)
		}
		return result
	}
	if diff := cmp.Diff([]string{"testchart/templates/note.txt", "testchart/templates/secret.yaml"}, names(result.Templates)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"testchart/crds/a.yaml"}, names(result.Definitions)); diff != "" {
		t.Error(diff)
	}
	objects, err := result.Objects()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, object := range objects {
		got = append(got, object.Manifest.GetKind()+"/"+object.Manifest.GetName()+" from "+object.Source)
	}
	want := []string{"CustomResourceDefinition/a from testchart/crds/a.yaml", "Secret/r from testchart/templates/secret.yaml"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A number in a template must not take all memory.
func TestFunctionsHaveLimits(t *testing.T) {
	for template, want := range map[string]string{
		`{{ until 3 }}`:                            "[0 1 2]",
		`{{ until -2 }}`:                           "[0 -1]",
		`{{ untilStep 3 9 3 }}`:                    "[3 6]",
		`{{ untilStep 3 9 0 }}`:                    "[]",
		`{{ repeat 2 "ab" }}`:                      "abab",
		`{{ "a\nb" | indent 2 }}`:                  "  a\n  b",
		`{{ "a" | nindent 2 }}`:                    "\n  a",
		`{{ randAlphaNum 3 | len }}`:               "3",
		`{{ until 2000000000 }}`:                   "error: more than 100000 numbers",
		`{{ untilStep 0 -2000000000 -1 }}`:         "error: more than 100000 numbers",
		`{{ repeat 2000000000 "ab" }}`:             "error: more than 16777216 characters",
		`{{ repeat -1 "ab" }}`:                     "error: negative count",
		`{{ "a" | indent 2000000000 }}`:            "error: more than 16777216 characters",
		`{{ randAlphaNum 2000000000 }}`:            "error: the length must be between",
		`{{ env "HOME" }}`:                         `error: function "env" not defined`,
		`{{ getHostByName "localhost" }}nothing`:   "nothing",
		`{{ lookup "v1" "Secret" "a" "b" | len }}`: "0",
	} {
		result, err := func() (*Result, error) {
			chart := open(t, map[string]string{"Chart.yaml": metadata, "templates/x.txt": template})
			return Render(t.Context(), Input{Package: chart})
		}()
		if problem, fails := strings.CutPrefix(want, "error: "); fails {
			if err == nil || !strings.Contains(err.Error(), problem) {
				t.Errorf("%s: %v, want %q", template, err, problem)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", template, err)
		} else if diff := cmp.Diff(want, result.Templates[0].Content); diff != "" {
			t.Errorf("%s: %s", template, diff)
		}
	}
}
