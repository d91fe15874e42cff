// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package artifact_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"espalier.dev/internal/artifact"
)

func TestParseDefault(t *testing.T) {
	for text, want := range map[string]map[string]any{
		"registry.example.com/components":                    {"type": "OCIRegistry", "baseUrl": "registry.example.com/components"},
		"http://localhost:5000":                              {"type": "OCIRegistry", "baseUrl": "http://localhost:5000"},
		` {"type": "ociRegistry", "baseUrl": "r.io"}`:        {"type": "ociRegistry", "baseUrl": "r.io"},
		`{"type": "CommonTransportFormat", "filePath": "a"}`: {"type": "CommonTransportFormat", "filePath": "a"},
		`{"type": "local", "filePath": "a"}`:                 {"type": "local", "filePath": "a"},
	} {
		got, err := artifact.ParseDefault(text)
		if err != nil || !cmp.Equal(got.Object(), want) {
			t.Errorf("%s: got %v, %v", text, got.Object(), err)
		}
	}
	if got, err := artifact.ParseDefault(""); err != nil || !got.IsZero() {
		t.Errorf("nothing: got %v, %v", got, err)
	}
	for text, want := range map[string]string{
		"robot:s3cret@r.io/components":          "no user or password",
		"ftp://r.io":                            "must start with https://",
		" ":                                     "needs a host",
		"{}":                                    "needs a type",
		`{"type": "OCIRegistry"`:                "repository context",
		`{"type": "OCIRegistry"}`:               "baseUrl",
		`{"type": "s3"}`:                        `unknown type "s3"`,
		`{"type": "local", "filePath": "../a"}`: "filePath",
		`{"type": "OCIRegistry", "baseUrl": "robot:s3cret@r.io"}`:  "no user or password",
		`{"type": "OCIRegistry/v7", "baseUrl": "r.io/components"}`: `no version "v7"`,
	} {
		_, err := artifact.ParseDefault(text)
		if err == nil {
			t.Errorf("%s: there is no error", text)
			continue
		}
		for _, part := range []string{want, "--default-repository-context: ", "use the address of a registry"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q does not contain %q", text, err, part)
			}
		}
		if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: the error tells the password: %v", text, err)
		}
	}
}
