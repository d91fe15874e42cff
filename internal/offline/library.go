// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/blueprint"
	"espalier.dev/internal/component"
	"espalier.dev/internal/component/resolve"
	"espalier.dev/internal/schema"
)

// Library is where components and their blueprints come from.
type Library struct {
	// directory holds components, nil if none was given.
	directory fs.FS
	source    resolve.Source
	// folders say where in the directory the descriptor of a component is.
	folders map[component.ID]string
	// blueprints are those that the user gave, by what the user calls them.
	blueprints map[string]blueprint.Files
}

// ComponentSeparator stands between a component and the name of its resource.
const ComponentSeparator = "//"

// OpenLibrary reads a directory of component descriptors, or nothing if it is empty, and the directories of blueprints.
// Each of the latter is RESOURCE=DIR, where RESOURCE may have a component in front: COMPONENT//RESOURCE or
// COMPONENT:VERSION//RESOURCE.
func OpenLibrary(components string, blueprints []string) (*Library, error) {
	l := &Library{source: resolve.First{}, blueprints: map[string]blueprint.Files{}}
	for _, assignment := range blueprints {
		name, dir, found := strings.Cut(assignment, "=")
		if !found || name == "" || dir == "" {
			return nil, fmt.Errorf("--blueprint %s: write RESOURCE=DIR, or COMPONENT//RESOURCE=DIR", assignment)
		}
		files, err := blueprint.CopyFiles(os.DirFS(dir))
		if err != nil {
			return nil, fmt.Errorf("--blueprint %s: %w", assignment, err)
		}
		l.blueprints[name] = files
	}
	if components == "" {
		return l, nil
	}
	return l, l.readComponents(os.DirFS(components), components)
}

func (l *Library) readComponents(directory fs.FS, name string) error {
	source, err := resolve.ReadDirectory(directory, component.DefaultLimits)
	if err != nil {
		return fmt.Errorf("--components %s: %w", name, err)
	}
	l.directory, l.source, l.folders = directory, source, map[component.ID]string{}
	return fs.WalkDir(directory, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasPrefix(entry.Name(), "component-descriptor") {
			return err
		}
		text, err := fs.ReadFile(directory, file)
		if err != nil {
			return err
		}
		// Files that are no descriptors were left out above in the same way.
		if d, err := component.Parse(text, component.DefaultLimits); err == nil {
			l.folders[d.ID()] = path.Dir(file)
		}
		return nil
	})
}

// componentsOf returns the component of an installation with all that it refers to, nil if it names none.
func (l *Library) componentsOf(ctx context.Context, m *Manifests, inst *lsv1alpha1.Installation) (*component.Set, error) {
	definition := inst.Spec.ComponentDescriptor
	if definition == nil || (definition.Reference == nil && (definition.Inline == nil || definition.Inline.IsNull())) {
		return nil, nil
	}
	options, err := m.closureOptions(inst)
	if err == nil {
		err = begin(&options, definition)
	}
	if err != nil {
		return nil, err
	}
	set, err := resolve.Closure(ctx, l.source, options)
	if errors.Is(err, resolve.ErrNotFound) && l.directory == nil {
		return nil, fmt.Errorf("spec.componentDescriptor: %w; give the directory of its descriptors with --components", err)
	}
	if err != nil {
		return nil, fmt.Errorf("spec.componentDescriptor: %w", err)
	}
	return set, nil
}

// begin says where the closure starts: at a component in a repository, or at one that is given inline.
func begin(options *component.ClosureOptions, definition *lsv1alpha1.ComponentDescriptorDefinition) (err error) {
	if definition.Reference != nil {
		options.Root, err = component.CoordinatesOf(*definition.Reference, options.Root.RepositoryContext)
		if err != nil {
			return fmt.Errorf("spec.componentDescriptor.ref: %w", err)
		}
		return nil
	}
	options.Inline, err = component.Parse(definition.Inline.Raw, component.DefaultLimits)
	if err != nil {
		return fmt.Errorf("spec.componentDescriptor.inline: %w", err)
	}
	return nil
}

// closureOptions are what the Context of an installation says about components.
func (m *Manifests) closureOptions(inst *lsv1alpha1.Installation) (component.ClosureOptions, error) {
	var options component.ClosureOptions
	name := cmp.Or(inst.Spec.Context, lsv1alpha1.DefaultContextName)
	found := find(m.Contexts, inst.Namespace, name)
	if found == nil {
		return options, nil
	}
	var err error
	if options.Root.RepositoryContext, err = component.ParseRepositoryContext(found.RepositoryContext); err != nil {
		return options, fmt.Errorf("%s: Context %s: repositoryContext: %w", m.origin(found), name, err)
	}
	reference := found.ComponentVersionOverwritesReference
	if reference == "" {
		return options, nil
	}
	overwrites := find(m.Overwrites, inst.Namespace, reference)
	if overwrites == nil {
		return options, fmt.Errorf("%s: Context %s: componentVersionOverwrites: there is no ComponentVersionOverwrites %s/%s among the manifests: add it",
			m.origin(found), name, inst.Namespace, reference)
	}
	if options.Overwrites, err = component.NewOverwrites(overwrites.Overwrites); err != nil {
		return options, fmt.Errorf("%s: ComponentVersionOverwrites %s: %w", m.origin(overwrites), reference, err)
	}
	return options, nil
}

// named objects have a name and a namespace.
type namedObject interface {
	comparable
	GetName() string
	GetNamespace() string
}

// find returns the object of a name, or nil.
func find[T namedObject](objects []T, namespace, name string) (none T) {
	for _, object := range objects {
		if object.GetNamespace() == namespace && object.GetName() == name {
			return object
		}
	}
	return none
}

// blueprintOf returns the blueprint of an installation.
func (l *Library) blueprintOf(engine *blueprint.Engine, inst *lsv1alpha1.Installation, set *component.Set) (*blueprint.Blueprint, error) {
	definition := inst.Spec.Blueprint
	switch {
	case (definition.Inline == nil) == (definition.Reference == nil):
		return nil, errors.New("spec.blueprint: set exactly one of ref and inline")
	case definition.Inline != nil:
		b, err := engine.ParseInline(definition.Inline.Filesystem)
		return b, within("spec.blueprint.inline.filesystem", err)
	case set == nil:
		return nil, errors.New("spec.blueprint.ref: the installation names no component in which the blueprint could be: set spec.componentDescriptor")
	}
	files, err := l.blueprintFiles(set.Root(), definition.Reference.ResourceName)
	if err != nil {
		return nil, within("spec.blueprint.ref.resourceName", err)
	}
	b, err := engine.Parse(files)
	return b, within("spec.blueprint.ref: blueprint "+definition.Reference.ResourceName, err)
}

func within(field string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", field, err)
}

func (l *Library) blueprintFiles(of *component.Descriptor, resourceName string) (blueprint.Files, error) {
	resource, err := of.Resource(component.Named(resourceName))
	if err != nil {
		return nil, err
	}
	for _, name := range []string{of.ID().String() + ComponentSeparator + resourceName, of.Name + ComponentSeparator + resourceName, resourceName} {
		if files, given := l.blueprints[name]; given {
			return files, nil
		}
	}
	if folder, found := l.folders[of.ID()]; found {
		beside := path.Join(folder, resourceName)
		if info, err := fs.Stat(l.directory, beside); err == nil && info.IsDir() {
			directory, err := fs.Sub(l.directory, beside)
			if err != nil {
				return nil, err
			}
			return blueprint.CopyFiles(directory)
		}
	}
	if content, err := l.content(of, resource.Access); err == nil {
		return readArchive(content.Data)
	}
	return nil, fmt.Errorf("the blueprint %s of component %s is not at hand: give its directory with --blueprint %s=DIR", resourceName, of.ID(), resourceName)
}

// content returns the blobs that lie in the directory of components, beside the descriptor in the folder blobs.
func (l *Library) content(of *component.Descriptor, access component.Access) (component.Content, error) {
	blob, isBlob := access.Blob()
	folder, known := l.folders[of.ID()]
	if !isBlob || !known || blob.Repository != "" {
		return component.Content{}, fmt.Errorf("its content is not at hand without a registry (access type %s)", access.Type)
	}
	name := path.Join(folder, "blobs", strings.ReplaceAll(blob.Reference, ":", "."))
	data, err := fs.ReadFile(l.directory, name)
	if err != nil {
		return component.Content{}, fmt.Errorf("the blob %s of component %s is not in the directory of components", blob.Reference, of.ID())
	}
	return component.Content{Data: data, MediaType: blob.MediaType}, nil
}

// schemas finds schemas in components, beginning at one of them.
func (l *Library) schemas(set *component.Set, from *component.Descriptor) schema.Finder {
	return func(uri string) (schema.Resource, error) {
		found, err := set.ResolveURI(from, uri)
		if err != nil {
			return schema.Resource{}, err
		}
		if found.Resource == nil {
			return schema.Resource{}, fmt.Errorf("%s leads to a component, not to a resource", uri)
		}
		content, err := l.content(found.Component, found.Resource.Access)
		if err != nil {
			return schema.Resource{}, err
		}
		return schema.Resource{Content: content.Data, Component: found.Component.ID().String(), Resources: l.schemas(set, found.Component)}, nil
	}
}
