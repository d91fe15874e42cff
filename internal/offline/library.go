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
	"espalier.dev/internal/catalog"
	"espalier.dev/internal/component"
	"espalier.dev/internal/component/repository"
	"espalier.dev/internal/component/resolve"
	"espalier.dev/internal/failure"
)

// Library provides components and their blueprints.
type Library struct {
	// directory contains components; it is nil if none is given.
	directory fs.FS
	source    resolve.Source
	// folders maps components to the folders of their descriptors.
	folders map[component.ID]string
	// blueprints are the blueprints from the user, by the names that the user gave them.
	blueprints map[string]blueprint.Files
}

// ComponentSeparator separates a component from the name of its resource.
const ComponentSeparator = "//"

// OpenLibrary opens a directory of component descriptors, if not empty, and the directories of blueprints. Each of the latter is
// RESOURCE=DIR, where RESOURCE may have a component in front: COMPONENT//RESOURCE or COMPONENT:VERSION//RESOURCE.
func OpenLibrary(components string, blueprints []string) (*Library, error) {
	l := &Library{source: resolve.First{}, blueprints: map[string]blueprint.Files{}}
	for _, assignment := range blueprints {
		name, dir, found := strings.Cut(assignment, "=")
		if !found || name == "" || dir == "" {
			return nil, fmt.Errorf("--blueprint %s: write RESOURCE=DIR, or COMPONENT//RESOURCE=DIR", assignment)
		}
		files, err := readDirectory(dir)
		if err != nil {
			return nil, fmt.Errorf("--blueprint %s: %w", assignment, err)
		}
		l.blueprints[name] = files
	}
	if components == "" {
		return l, nil
	}
	// The directory stays open while the library is in use, because blobs are read on demand.
	directory, err := os.OpenRoot(components)
	if err != nil {
		return nil, fmt.Errorf("--components %s: %w", components, err)
	}
	return l, l.readComponents(directory.FS(), components)
}

// readDirectory reads the directory of a blueprint. Nothing in it can lead out of it, including links.
func readDirectory(dir string) (blueprint.Files, error) {
	directory, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer directory.Close()
	return blueprint.CopyFiles(directory.FS())
}

func (l *Library) readComponents(directory fs.FS, name string) error {
	source, err := resolve.ReadDirectory(directory, component.DefaultLimits)
	if err != nil {
		return fmt.Errorf("--components %s: %w", name, err)
	}
	l.directory, l.source, l.folders = directory, source, map[component.ID]string{}
	return fs.WalkDir(directory, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || !strings.HasPrefix(entry.Name(), "component-descriptor") {
			return err
		}
		text, err := fs.ReadFile(directory, file)
		if err != nil {
			return err
		}
		// Files that are not descriptors were omitted above in the same way.
		if d, err := component.Parse(text, component.DefaultLimits); err == nil {
			l.folders[d.ID()] = path.Dir(file)
		}
		return nil
	})
}

// repository returns what the catalog reads from: the directory of components if there is one, otherwise outside.
func (l *Library) repository(outside catalog.Repository) catalog.Repository {
	if l.directory != nil {
		return catalog.Repository{Default: outside.Default, Source: l.source, Resources: l, Artifacts: outside.Artifacts}
	}
	outside.Resources = given{library: l, others: outside.Resources}
	return outside
}

// given provides the blueprints from the user, and other resources from elsewhere.
type given struct {
	library *Library
	others  catalog.Resources
}

// Blueprint implements catalog.Resources.
func (g given) Blueprint(ctx context.Context, of component.Coordinates, resource *component.Resource) (blueprint.Files, error) {
	files, found := g.library.given(of.ID(), resource.Name)
	if found || g.others == nil {
		return files, orNotAtHand(found, of.ID(), resource.Name)
	}
	files, err := g.others.Blueprint(ctx, of, resource)
	if errors.Is(err, resolve.ErrNotFound) {
		return nil, fmt.Errorf("%w; or give its directory with --blueprint %s=DIR", err, resource.Name)
	}
	return files, err
}

// Content implements catalog.Resources.
func (g given) Content(ctx context.Context, of component.Coordinates, access component.Access) (component.Content, error) {
	if g.others == nil {
		return g.library.Content(ctx, of, access)
	}
	return g.others.Content(ctx, of, access)
}

// explain adds to an error of the catalog what a user of the command line can do about it, and where the object was read that caused it.
func (l *Library) explain(m *Manifests, err error) error {
	if l.directory == nil && isMissingComponent(err) {
		return fmt.Errorf("%w; give its descriptors, in a directory or an archive, with --components", err)
	}
	var about *catalog.ObjectError
	if errors.As(err, &about) {
		return fmt.Errorf("%s: %w", m.origin(about.Object), err)
	}
	return err
}

func isMissingComponent(err error) bool {
	switch failure.DetailsOf(err).Reason {
	case catalog.ReasonComponentNotFound:
		return errors.Is(err, resolve.ErrNotFound)
	case repository.ReasonRepositoryContextMissing:
		return true
	}
	return false
}

// request collects the objects that determine the source of an installation's component.
func (m *Manifests) request(inst *lsv1alpha1.Installation) catalog.Request {
	r := catalog.Request{
		Installation: inst,
		Context:      find(m.Contexts, inst.Namespace, cmp.Or(inst.Spec.Context, lsv1alpha1.DefaultContextName)),
	}
	if r.Context != nil {
		r.Overwrites = find(m.Overwrites, inst.Namespace, r.Context.ComponentVersionOverwritesReference)
	}
	return r
}

// named objects have a name and a namespace.
type namedObject interface {
	comparable
	GetName() string
	GetNamespace() string
}

// find returns the object with a name, or nil.
func find[T namedObject](objects []T, namespace, name string) (none T) {
	for _, object := range objects {
		if object.GetNamespace() == namespace && object.GetName() == name {
			return object
		}
	}
	return none
}

// Blueprint implements catalog.Resources: blueprints come from the user, from directories beside the descriptor, or from blobs.
func (l *Library) Blueprint(ctx context.Context, of component.Coordinates, resource *component.Resource) (blueprint.Files, error) {
	id, name := of.ID(), resource.Name
	if files, found := l.given(id, name); found {
		return files, nil
	}
	if folder, found := l.folders[id]; found {
		beside := path.Join(folder, name)
		if info, err := fs.Stat(l.directory, beside); err == nil && info.IsDir() {
			directory, err := fs.Sub(l.directory, beside)
			if err != nil {
				return nil, err
			}
			return blueprint.CopyFiles(directory)
		}
	}
	if content, err := l.Content(ctx, of, resource.Access); err == nil {
		return catalog.Unpack(content.Data)
	}
	return nil, orNotAtHand(false, id, name)
}

// given returns a blueprint from the user.
func (l *Library) given(id component.ID, name string) (blueprint.Files, bool) {
	for _, key := range []string{id.String() + ComponentSeparator + name, id.Name + ComponentSeparator + name, name} {
		if files, found := l.blueprints[key]; found {
			return files, true
		}
	}
	return nil, false
}

// orNotAtHand says how to provide a blueprint that was not found.
func orNotAtHand(found bool, id component.ID, name string) error {
	if found {
		return nil
	}
	return catalog.NotFoundf("the blueprint %s of component %s is not available: set its directory with --blueprint %s=DIR", name, id, name)
}

// Content implements catalog.Resources: blobs are in the folder blobs beside the descriptor, in the directory of components.
func (l *Library) Content(_ context.Context, of component.Coordinates, access component.Access) (component.Content, error) {
	blob, isBlob := access.Blob()
	folder, known := l.folders[of.ID()]
	if !isBlob || !known || blob.Repository != "" {
		return component.Content{}, catalog.NotFoundf("its content is not available without a registry (access type %s)", access.Type)
	}
	name := path.Join(folder, "blobs", strings.ReplaceAll(blob.Reference, ":", "."))
	data, err := fs.ReadFile(l.directory, name)
	if err != nil {
		return component.Content{}, catalog.NotFoundf(
			"the blob %s of component %s is not in the directory of components",
			blob.Reference,
			of.ID(),
		)
	}
	return component.Content{Data: data, MediaType: blob.MediaType}, nil
}
