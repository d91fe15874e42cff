// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"espalier.dev/internal/failure"
)

// mapper knows two kinds, and fails for a third.
type mapper struct{ meta.RESTMapper }

func (mapper) RESTMapping(kind schema.GroupKind, _ ...string) (*meta.RESTMapping, error) {
	switch kind.Kind {
	case "Local":
		return &meta.RESTMapping{Scope: meta.RESTScopeNamespace}, nil
	case "Global":
		return &meta.RESTMapping{Scope: meta.RESTScopeRoot}, nil
	case "Broken":
		return nil, errors.New("no connection")
	}
	return nil, &meta.NoKindMatchError{GroupKind: kind}
}

func named(t *testing.T, kind, namespace string) Object {
	t.Helper()
	result := object(t, "metadata: {name: x}")
	result.SetKind(kind)
	result.SetNamespace(namespace)
	return Object{Manifest: result, Path: "spec.config.manifests[7].manifest"}
}

func TestPlace(t *testing.T) {
	objects := []Object{
		named(t, "Local", ""), named(t, "Local", "own"), named(t, "Global", "nonsense"), named(t, "Unknown", "own"), named(t, "Unknown", ""),
		named(t, "Namespace", "nonsense"),
	}
	got, err := Place(objects, mapper{}, "default-one")
	if err != nil {
		t.Fatal(err)
	}
	var namespaces []string
	for _, o := range got {
		namespaces = append(namespaces, o.Manifest.GetNamespace())
	}
	if want := []string{"default-one", "own", "", "own", "", ""}; !slices.Equal(namespaces, want) {
		t.Errorf("the namespaces are %q, want %q", namespaces, want)
	}
	if objects[2].Manifest.GetNamespace() != "nonsense" {
		t.Error("the manifest of the caller was changed")
	}
	if _, err := Place(objects, mapper{}, ""); failure.KindOf(err) != failure.Terminal ||
		!strings.Contains(err.Error(), "spec.config.manifests[7].manifest.metadata.namespace") {
		t.Errorf("without a default: %v", err)
	}
	if _, err := Place([]Object{named(t, "Broken", "")}, mapper{}, ""); err == nil || failure.KindOf(err) != failure.Retryable {
		t.Errorf("without a connection: %v", err)
	}
}
