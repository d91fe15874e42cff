// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package create

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/pflag"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/blueprint"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/cli/registry"
	"espalier.dev/internal/offline"
)

// source is where the blueprint of a new installation comes from.
type source struct {
	component, repository, resource string
	blueprint                       string
	context                         string
}

// defaultResource is what the blueprint of a component is called, most often.
const defaultResource = "blueprint"

func (s *source) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&s.component, "component", "", "component that contains the blueprint: NAME:VERSION")
	flags.StringVar(&s.repository, "repository", "", "registry that contains the component (default: that of the Context)")
	flags.StringVar(&s.resource, "resource", defaultResource, "name of the blueprint among the resources of the component")
	flags.StringVar(&s.blueprint, "blueprint", "", "directory of a blueprint, or its reference in a registry, such as registry.example.com/shop:1.0.0")
	flags.StringVar(&s.context, "use-context", "", "Context of the installation (default: default)")
}

// fill writes into a spec where the blueprint is.
func (s *source) fill(env cli.Environment, spec *lsv1alpha1.InstallationSpec) error {
	spec.Context = s.context
	switch {
	case (s.component == "") == (s.blueprint == ""):
		return errors.New("say what to install: --component NAME:VERSION, or --blueprint with a directory or a reference")
	case s.component != "":
		return s.fillComponent(spec)
	case s.repository != "" || s.resource != defaultResource:
		return errors.New("--repository and --resource go with --component")
	}
	if info, err := os.Stat(s.blueprint); err == nil && info.IsDir() && !registry.IsArchive(s.blueprint) {
		return s.fillInline(env, spec)
	}
	reference, err := registry.ParseReference(s.blueprint)
	if err != nil {
		return fmt.Errorf("--blueprint names neither a directory that exists nor an artifact: %w", err)
	}
	if reference.Archive != "" {
		return errors.New("--blueprint names an archive, which controllers do not read: push the blueprint to a registry, or name its directory")
	}
	spec.Blueprint.OCI = &lsv1alpha1.OCIBlueprint{Reference: s.blueprint}
	return nil
}

func (s *source) fillComponent(spec *lsv1alpha1.InstallationSpec) error {
	name, version, found := strings.Cut(s.component, ":")
	if !found || name == "" || version == "" || strings.Contains(name, registry.Separator) {
		return fmt.Errorf("--component %s: write NAME:VERSION, such as example.com/shop:1.2.0; --repository says where it is",
			registry.Shown(s.component))
	}
	reference := &lsv1alpha1.ComponentDescriptorReference{ComponentName: name, Version: version}
	if s.repository != "" {
		place, err := registry.ParsePlace(s.repository + registry.Separator + s.component)
		if err != nil {
			return fmt.Errorf("--repository: %w", err)
		}
		if place.Directory != "" {
			return errors.New("--repository names an archive, which controllers do not read: transfer the component to a registry")
		}
		text, err := json.Marshal(map[string]string{"type": "OCIRegistry", "baseUrl": s.repository})
		if err != nil {
			return err
		}
		reference.RepositoryContext = &lsv1alpha1.AnyJSON{Raw: text}
	}
	spec.ComponentDescriptor = &lsv1alpha1.ComponentDescriptorDefinition{Reference: reference}
	spec.Blueprint.Reference = &lsv1alpha1.RemoteBlueprintReference{ResourceName: s.resource}
	return nil
}

// fillInline makes the files of a directory part of the installation. A blueprint with errors is refused with all of them.
func (s *source) fillInline(env cli.Environment, spec *lsv1alpha1.InstallationSpec) error {
	files, checked, err := offline.ReadBlueprint(s.blueprint)
	if err != nil {
		return err
	}
	for _, finding := range checked.Errors {
		fmt.Fprintln(env.ErrOut, display.Clean("error: "+finding))
	}
	if len(checked.Errors) > 0 {
		return errors.New("the blueprint has errors: fix them, and check it with espalier blueprint validate")
	}
	tree, err := treeOf(files)
	if err != nil {
		return err
	}
	text, err := json.Marshal(tree)
	if err != nil {
		return err
	}
	spec.Blueprint.Inline = &lsv1alpha1.InlineBlueprint{Filesystem: lsv1alpha1.AnyJSON{Raw: text}}
	return nil
}

// treeOf writes a directory as installations do: a file is a text, a directory an object.
func treeOf(files blueprint.Files) (map[string]any, error) {
	tree := map[string]any{}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if !utf8.Valid(files[path]) {
			return nil, fmt.Errorf("%s is not a text, and an installation can contain nothing else: store the blueprint in a registry "+
				"with espalier blueprint push, and name that", display.Clean(path))
		}
		folder := tree
		names := strings.Split(path, "/")
		for _, name := range names[:len(names)-1] {
			inner, _ := folder[name].(map[string]any)
			if inner == nil {
				inner = map[string]any{}
				folder[name] = inner
			}
			folder = inner
		}
		folder[names[len(names)-1]] = string(files[path])
	}
	return tree, nil
}
