// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"os"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/artifact"
	"espalier.dev/internal/blueprint"
	"espalier.dev/internal/catalog"
	"espalier.dev/internal/component"
	"espalier.dev/internal/component/credentials"
	"espalier.dev/internal/dial"
	"espalier.dev/internal/lru"
	"espalier.dev/internal/masking"
	"espalier.dev/internal/offline"
	"espalier.dev/internal/target"
)

const (
	// outsideLimit is the time limit for registries and Git servers per request, outsideBytes the limit of what is cached meanwhile.
	outsideLimit = 30 * time.Second
	outsideBytes = 256 << 20
)

// outside reads components and blueprints from registries and Git servers, with the credentials among the manifests, which are those that
// the caller may read. It lasts for one request, because the next caller may have other credentials.
type outside struct {
	rules      dial.Rules
	standard   component.RepositoryContext
	directory  string
	registries *artifact.Registries
	git        *artifact.Git
}

func (s *Server) newOutside() *outside {
	return &outside{rules: dial.Rules{AllowLoopback: target.OnLoopback(s.options.Config)}, standard: s.options.DefaultRepository}
}

// prepare creates the folder for downloads, once. Most blueprints need none.
func (o *outside) prepare() (err error) {
	if o.registries != nil {
		return nil
	}
	if o.directory, err = os.MkdirTemp("", "espalier-ui-"); err != nil {
		return err
	}
	o.git = artifact.NewGit(o.rules)
	o.registries, err = artifact.NewRegistries(artifact.RegistryOptions{
		Rules: o.rules, CacheDirectory: o.directory, CacheBytes: outsideBytes, Default: o.standard,
	})
	return err
}

func (o *outside) close() {
	if o.directory != "" {
		_ = os.RemoveAll(o.directory)
	}
}

// open implements offline.Outside.
func (o *outside) open(reader offline.Reader) (catalog.Repository, []string, error) {
	if err := o.prepare(); err != nil {
		return catalog.Repository{}, nil, err
	}
	var config credentials.Config
	if reader.Context != nil {
		var err error
		if config, err = credentials.OfContext(reader.Context, reader.Contents); err != nil {
			return catalog.Repository{}, nil, catalog.Absent(catalog.ReasonContextInvalid, catalog.AboutContext(reader.Context, err))
		}
	}
	blueprints := &artifact.Blueprints{
		Repositories: o.registries.With(lru.Key{}, config),
		Servers:      o.git,
		Namespace:    reader.Namespace,
		Contents:     reader.Contents,
	}
	return blueprints.Repository(reader.Namespace), config.Ignored, nil
}

// options returns the options to render one installation.
func (o *outside) options(inst *lsv1alpha1.Installation) (offline.Options, error) {
	library, err := offline.OpenLibrary("", nil)
	return offline.Options{Installation: inst.Namespace + "/" + inst.Name, Library: library, Outside: o.open}, err
}

// find looks up a blueprint.
func (o *outside) find(ctx context.Context, inst *lsv1alpha1.Installation, m *offline.Manifests) (*blueprint.Blueprint, error) {
	options, err := o.options(inst)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, outsideLimit)
	defer cancel()
	found, err := offline.Find(ctx, m, options)
	if err != nil {
		return nil, invalid("The blueprint of %s cannot be read: %s.", inst.Name, masking.Words(err))
	}
	return found, nil
}

// render renders an installation.
func (o *outside) render(ctx context.Context, inst *lsv1alpha1.Installation, m *offline.Manifests) (*offline.Result, error) {
	options, err := o.options(inst)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, outsideLimit)
	defer cancel()
	return offline.Render(ctx, m, options)
}
