// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	landscaper "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// Strict validation rejects fields that the server would otherwise drop.
func TestEveryExampleIsAccepted(t *testing.T) {
	server := testkit.Server(t)
	if len(Names()) == 0 {
		t.Fatal("there are no examples")
	}
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			if len(Describe(name)) < 20 || !strings.HasPrefix(Readme(name), "# "+name+"\n\n"+Describe(name)+".\n\n") {
				t.Errorf("its README does not begin with a title and a line about it:\n%s", Readme(name))
			}
			objects, err := Read(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, object := range objects {
				strict := client.WithFieldValidation(server.Client(), "Strict")
				if err := strict.Create(t.Context(), object); err != nil {
					t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
				}
			}
		})
	}
}

func TestBlueprintsAreWellFormed(t *testing.T) {
	inGit, err := fs.ReadFile(Repository(), "blueprint.yaml")
	if err != nil {
		t.Fatal(err)
	}
	manifests, err := fs.Glob(Repository(), "environments/*.yaml")
	if err != nil || len(manifests) != 3 {
		t.Fatalf("the repository has the manifests %q: %v", manifests, err)
	}
	for _, path := range manifests {
		objects, err := readFile(Repository(), path)
		if err != nil {
			t.Fatal(err)
		}
		checkBlueprint(t, objects[0], inGit)
	}
	for _, name := range Names() {
		objects, err := Read(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range objects {
			if object.GetKind() == "Installation" {
				checkBlueprint(t, object, inGit)
			}
		}
	}
}

// checkBlueprint checks the blueprint in an installation, or the one in Git.
func checkBlueprint(t *testing.T, object client.Object, inGit []byte) {
	t.Helper()
	raw, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var installation landscaper.Installation
	if err := yaml.UnmarshalStrict(raw, &installation); err != nil {
		t.Fatal(err)
	}
	folder := map[string]string{"blueprint.yaml": string(inGit)}
	if installation.Spec.Blueprint.Git == nil {
		if err := installation.Spec.Blueprint.Inline.Filesystem.Decode(&folder); err != nil {
			t.Fatal(err)
		}
	}
	var blueprint landscaper.Blueprint
	if err := yaml.UnmarshalStrict([]byte(folder["blueprint.yaml"]), &blueprint); err != nil {
		t.Fatalf("blueprint of %s: %v", object.GetName(), err)
	}
	provided := slices.Collect(maps.Keys(installation.Spec.ImportDataMappings))
	for _, i := range installation.Spec.Imports.Data {
		provided = append(provided, i.Name)
	}
	for _, i := range installation.Spec.Imports.Targets {
		provided = append(provided, i.Name)
	}
	for _, i := range blueprint.Imports {
		if !slices.Contains(provided, i.Name) {
			t.Errorf("installation %s does not provide import %s", object.GetName(), i.Name)
		}
	}
	if len(blueprint.DeployExecutions)+len(blueprint.Subinstallations) == 0 {
		t.Errorf("the blueprint of %s deploys nothing", object.GetName())
	}
}

func TestUnknownExample(t *testing.T) {
	for _, name := range []string{"nope", "", ".", "hello/..", "../examples/hello", "file-deployer"} {
		if _, err := Read(name); err == nil || !strings.Contains(err.Error(), "hello") {
			t.Errorf("%q: %v", name, err)
		}
		if Describe(name) != "" {
			t.Error("an unknown example is described")
		}
	}
}
