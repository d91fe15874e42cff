// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/blueprint"
	"espalier.dev/internal/component"
	"espalier.dev/internal/component/resolve"
)

// shelf is a repository in memory that counts how often it is read.
type shelf struct {
	*resolve.Memory
	blueprints map[string]blueprint.Files
	contents   map[string]string
	// broken is the error of every read, if set.
	broken error

	mutex sync.Mutex
	reads []component.Coordinates
}

// newShelf returns a shelf with the component app, which refers to base, and base in versions 1 and 2.
func newShelf(t *testing.T) *shelf {
	t.Helper()
	var descriptors []*component.Descriptor
	for _, text := range []string{
		`{name: app, version: 1.0.0, componentReferences: [{name: below, componentName: base, version: 1.0.0}], resources: [
			{name: installer, type: blueprint, version: 1.0.0, access: {type: localBlob, localReference: installer}},
			{name: gone, type: blueprint, version: 1.0.0, access: {type: localBlob, localReference: gone}}]}`,
		`{name: base, version: 1.0.0, resources: [
			{name: size, type: schema, version: 1.0.0, access: {type: localBlob, localReference: size}},
			{name: lost, type: schema, version: 1.0.0, access: {type: localBlob, localReference: lost}}]}`,
		`{name: base, version: 2.0.0}`,
	} {
		d, err := component.Parse([]byte("{meta: {schemaVersion: v2}, component: "+text+"}"), component.DefaultLimits)
		if err != nil {
			t.Fatal(err)
		}
		descriptors = append(descriptors, d)
	}
	memory, err := resolve.NewMemory(descriptors...)
	if err != nil {
		t.Fatal(err)
	}
	return &shelf{
		Memory:     memory,
		blueprints: map[string]blueprint.Files{"app:1.0.0 installer": {"blueprint.yaml": []byte("kind: Blueprint")}},
		contents:   map[string]string{"base:1.0.0 size": `{"type": "integer"}`},
	}
}

func (s *shelf) repository() Repository { return Repository{Source: s, Resources: s} }

func (s *shelf) Descriptor(ctx context.Context, at component.Coordinates) (*component.Descriptor, error) {
	s.mutex.Lock()
	s.reads = append(s.reads, at)
	s.mutex.Unlock()
	if s.broken != nil {
		return nil, s.broken
	}
	return s.Memory.Descriptor(ctx, at)
}

func (s *shelf) Blueprint(_ context.Context, of component.Coordinates, resource *component.Resource) (blueprint.Files, error) {
	files, found := s.blueprints[of.ID().String()+" "+resource.Name]
	if !found {
		return nil, NotFoundf("the shelf has no blueprint %s", resource.Name)
	}
	return files, nil
}

func (s *shelf) Content(_ context.Context, of component.Coordinates, access component.Access) (component.Content, error) {
	blob, _ := access.Blob()
	content, found := s.contents[of.ID().String()+" "+blob.Reference]
	if !found {
		return component.Content{}, NotFoundf("the shelf has no blob %s", blob.Reference)
	}
	return component.Content{Data: []byte(content)}, nil
}

// installation returns an installation whose spec is written as YAML.
func installation(t *testing.T, spec string) *lsv1alpha1.Installation {
	t.Helper()
	inst := &lsv1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Namespace: "garden", Name: "tree"}}
	if err := yaml.UnmarshalStrict([]byte(spec), &inst.Spec); err != nil {
		t.Fatal(err)
	}
	return inst
}

const (
	inlineBlueprint = "\nblueprint: {inline: {filesystem: {blueprint.yaml: 'kind: Blueprint'}}}"
	refBlueprint    = "\nblueprint: {ref: {resourceName: installer}}"
	refComponent    = "\ncomponentDescriptor: {ref: {componentName: app, version: 1.0.0}}"
)

// contextOf returns a Context whose content is written as YAML.
func contextOf(t *testing.T, text string) *lsv1alpha1.Context {
	t.Helper()
	c := &lsv1alpha1.Context{}
	if err := yaml.UnmarshalStrict([]byte(text), c); err != nil {
		t.Fatal(err)
	}
	c.Namespace, c.Name = "garden", "default"
	return c
}

const pinned = `componentVersionOverwrites: pins`

// pins returns overwrites that redirect components.
func pins(t *testing.T, rules ...string) *lsv1alpha1.ComponentVersionOverwrites {
	t.Helper()
	o := &lsv1alpha1.ComponentVersionOverwrites{ObjectMeta: metav1.ObjectMeta{Namespace: "garden", Name: "pins"}}
	text, err := yaml.YAMLToJSON([]byte("[" + strings.Join(rules, ", ") + "]"))
	if err == nil {
		err = json.Unmarshal(text, &o.Overwrites)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

const newerBase = `{source: {componentName: base}, substitution: {version: 2.0.0}}`
