// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"path/filepath"

	"k8s.io/apimachinery/pkg/types"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/artifact"
	"espalier.dev/internal/catalog"
	"espalier.dev/internal/component"
	"espalier.dev/internal/component/credentials"
	"espalier.dev/internal/component/repository"
	"espalier.dev/internal/lru"
	"espalier.dev/internal/offline"
)

// InsteadOfAll has an archive take the place of every repository that is named.
func InsteadOfAll(name string) (instead component.RepositoryContext, directory string, err error) {
	file, err := filepath.EvalSymlinks(name)
	if err == nil {
		file, err = filepath.Abs(file)
	}
	if err != nil {
		return instead, "", err
	}
	if _, err := openArchive(file); err != nil {
		return instead, "", err
	}
	instead, err = component.NewRepositoryContext(archiveContext(file))
	return instead, filepath.Dir(file), err
}

// Outside is an offline.Outside: it opens repositories with the credentials of the Context, as far as these are among the manifests, and
// with those of the user.
func (s *Session) Outside(reader offline.Reader) (catalog.Repository, []string, error) {
	if err := s.open(); err != nil {
		return catalog.Repository{}, nil, err
	}
	config, warnings, err := ofContext(reader)
	if err != nil {
		return catalog.Repository{}, warnings, err
	}
	config.Credentials = s.user.Credentials.And(config.Credentials)
	config.Resolvers = append(config.Resolvers, s.user.Resolvers...)
	name := reader.Namespace + "/"
	if reader.Context != nil {
		name += reader.Context.Name
	}
	blueprints := &artifact.Blueprints{
		Repositories: s.registries.With(lru.KeyOf([]byte(name)), config),
		Servers:      s.git,
		Namespace:    reader.Namespace,
		Contents:     reader.Contents,
	}
	return blueprints.Repository(name), warnings, nil
}

// Open opens the repositories that a Context of the cluster shows, with the credentials of the Context and those of the user.
func (s *Session) Open(c *lsv1alpha1.Context, contents credentials.Contents, _ types.UID, _ string) (*repository.Repositories, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	config, err := credentials.OfContext(c, contents)
	if err != nil {
		return nil, err
	}
	config.Credentials = s.user.Credentials.And(config.Credentials)
	config.Resolvers = append(config.Resolvers, s.user.Resolvers...)
	return s.registries.With(lru.KeyOf([]byte(c.Namespace+"/"+c.Name)), config).Repositories, nil
}

// ofContext reads what a Context says about credentials. What it names and is not among the manifests is left out with a warning, for the
// user may have credentials as well.
func ofContext(reader offline.Reader) (credentials.Config, []string, error) {
	if reader.Context == nil {
		return credentials.Config{}, nil, nil
	}
	context := reader.Context.DeepCopy()
	var warnings []string
	missing := func(field, kind, name string) bool {
		data, err := reader.Contents(kind, name)
		if err == nil && data == nil {
			warnings = append(warnings, fmt.Sprintf("Context %s: %s: %s %s is not among the manifests, so it has no effect here",
				context.Name, field, kind, name))
			return true
		}
		return false
	}
	context.RegistryPullSecrets = nil
	for i, secret := range reader.Context.RegistryPullSecrets {
		if !missing(fmt.Sprintf("registryPullSecrets[%d]", i), credentials.KindSecret, secret.Name) {
			context.RegistryPullSecrets = append(context.RegistryPullSecrets, lsv1alpha1.LocalObjectReference{Name: secret.Name})
		}
	}
	if context.OCMConfig != nil && missing("ocmConfig", credentials.KindConfigMap, context.OCMConfig.Name) {
		context.OCMConfig = nil
	}
	config, err := credentials.OfContext(context, reader.Contents)
	if err != nil {
		return config, warnings, catalog.Absent(catalog.ReasonContextInvalid, catalog.AboutContext(reader.Context, err))
	}
	for _, ignored := range config.Ignored {
		warnings = append(warnings, fmt.Sprintf("Context %s: %s", context.Name, ignored))
	}
	return config, warnings, nil
}
