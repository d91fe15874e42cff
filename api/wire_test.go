// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
)

// The files contain every field of the formats that have no CRD, spelled as users spell them. None may be unknown, and all
// must come out again.
func TestFilesAreReadCompletely(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "files", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d files, %v", len(files), err)
	}
	scheme := newScheme(t)
	strict := jsonserializer.NewSerializerWithOptions(
		jsonserializer.DefaultMetaFactory,
		scheme,
		scheme,
		jsonserializer.SerializerOptions{Strict: true, Yaml: true},
	)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			object, _, err := strict.Decode(text, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			checkWords(t, text, written(t, strict, object))
		})
	}
}

func TestUnknownFieldsAreNoticed(t *testing.T) {
	scheme := newScheme(t)
	strict := jsonserializer.NewSerializerWithOptions(
		jsonserializer.DefaultMetaFactory,
		scheme,
		scheme,
		jsonserializer.SerializerOptions{Strict: true, Yaml: true},
	)
	text := "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Blueprint\njsonSchema: draft\n"
	if _, _, err := strict.Decode([]byte(text), nil, nil); !runtime.IsStrictDecodingError(err) {
		t.Errorf("got %v", err)
	}
}

func written(t *testing.T, serializer runtime.Serializer, object runtime.Object) string {
	t.Helper()
	var buffer bytes.Buffer
	if err := serializer.Encode(object, &buffer); err != nil {
		t.Fatal(err)
	}
	return buffer.String()
}

// checkWords compares keys only: values may be written in another style.
func checkWords(t *testing.T, before []byte, after string) {
	t.Helper()
	for line := range strings.Lines(string(before)) {
		key, _, isKey := strings.Cut(strings.TrimLeft(line, " -"), ":")
		if isKey && !strings.ContainsAny(key, " \"{[") && !strings.Contains(after, key) {
			t.Errorf("%s is lost", key)
		}
	}
}
