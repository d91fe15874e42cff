// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/archive"
	"espalier.dev/internal/blueprint"
	"espalier.dev/internal/component"
	"espalier.dev/internal/component/credentials"
	"espalier.dev/internal/component/repository"
	"espalier.dev/internal/component/resolve"
	"espalier.dev/internal/failure"
)

// Reasons of errors.
const (
	ReasonContentNotFound = "ContentNotFound"
	ReasonContentInvalid  = "ContentInvalid"
)

//espalier:rights deployer-container
//	get contexts,secrets,configmaps: credentials for images, blueprints and components

// scopeOf reads the Context of a deploy item, with the pull secrets of its configuration. A missing default Context counts as empty.
func (d *Deployer) scopeOf(ctx context.Context, item *lsv1alpha1.DeployItem, config *configuration) (*lsv1alpha1.Context, error) {
	scope := &lsv1alpha1.Context{}
	key := client.ObjectKey{Namespace: item.Namespace, Name: cmp.Or(item.Spec.Context, lsv1alpha1.DefaultContextName)}
	err := d.live.Get(ctx, key, scope)
	if apierrors.IsNotFound(err) && key.Name == lsv1alpha1.DefaultContextName {
		scope.Namespace, scope.Name, err = key.Namespace, key.Name, nil
	}
	if err != nil {
		return nil, unfetched(fmt.Errorf("read the Context %s: %w", key.Name, err))
	}
	for _, secret := range config.RegistryPullSecrets {
		scope.RegistryPullSecrets = append(scope.RegistryPullSecrets, lsv1alpha1.LocalObjectReference{Name: secret.Name})
	}
	return scope, nil
}

// contents reads the Secrets and ConfigMaps that a Context names, all of them in the Context's namespace.
func (d *Deployer) contents(ctx context.Context, namespace string) credentials.Contents {
	return func(kind, name string) (map[string][]byte, error) {
		data := map[string][]byte{}
		key := client.ObjectKey{Namespace: namespace, Name: name}
		var err error
		if kind == credentials.KindSecret {
			var secret corev1.Secret
			err = d.live.Get(ctx, key, &secret)
			data = secret.Data
		} else {
			var configMap corev1.ConfigMap
			err = d.live.Get(ctx, key, &configMap)
			for name, value := range configMap.Data {
				data[name] = []byte(value)
			}
		}
		switch {
		case apierrors.IsNotFound(err):
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("read %s %s: %w", kind, key, err)
		case data == nil:
			data = map[string][]byte{}
		}
		return data, nil
	}
}

// content is the image's input from components.
type content struct {
	// descriptors is the component descriptor file; nil if the item names no component.
	descriptors []byte
	files       archive.Files
}

// contentOf reads component descriptor and blueprint from the repositories of the item's Context.
func (d *Deployer) contentOf(
	ctx context.Context, item *lsv1alpha1.DeployItem, config *configuration, scope *lsv1alpha1.Context,
) (content, error) {
	var result content
	reader, err := d.reader(ctx, item, config, scope)
	if err != nil {
		return result, err
	}
	var set *component.Set
	if config.namesComponent() {
		if set, err = reader.closure(ctx); err != nil {
			return result, unread("componentDescriptor", err)
		}
		if result.descriptors, err = json.Marshal(set.View(component.SchemaV2)); err != nil {
			return result, invalidContent(err)
		}
	}
	if config.Blueprint == nil {
		return result, nil
	}
	result.files, err = reader.blueprint(ctx, set)
	return result, unread("blueprint", err)
}

// reader reads the component and the blueprint that an item names.
type reader struct {
	config       *configuration
	scope        *lsv1alpha1.Context
	repositories *repository.Repositories
}

// reader opens the registries, unless everything is inline.
func (d *Deployer) reader(
	ctx context.Context, item *lsv1alpha1.DeployItem, config *configuration, scope *lsv1alpha1.Context,
) (*reader, error) {
	r := &reader{config: config, scope: scope}
	inline := config.Blueprint == nil || config.Blueprint.Inline != nil
	if inline && !config.namesComponent() || d.options.Registries == nil {
		return r, nil
	}
	var err error
	r.repositories, err = d.options.Registries(scope, d.contents(ctx, item.Namespace), item.UID, item.Status.JobID)
	if err != nil {
		return nil, unfetched(fmt.Errorf("the Context %s/%s: %w", scope.Namespace, scope.Name, err))
	}
	return r, nil
}

var errNoRegistries = errors.New("this process has no access to registries: define it inline")

func (r *reader) closure(ctx context.Context) (*component.Set, error) {
	where, err := component.ParseRepositoryContext(r.scope.RepositoryContext)
	if err != nil {
		return nil, invalidContent(fmt.Errorf("the Context %s: repositoryContext: %w", r.scope.Name, err))
	}
	var source resolve.Source = resolve.First{}
	if r.repositories != nil {
		source = r.repositories
		if where.IsZero() {
			where = r.repositories.Default()
		}
	}
	options := component.ClosureOptions{Root: component.Coordinates{RepositoryContext: where}}
	definition := r.config.ComponentDescriptor
	if reference := definition.Reference; reference != nil {
		if r.repositories == nil {
			return nil, invalidContent(errNoRegistries)
		}
		options.Root, err = component.CoordinatesOf(*reference, where)
	} else {
		options.Inline, err = component.Parse(definition.Inline.Raw, component.DefaultLimits)
	}
	if err != nil {
		return nil, invalidContent(err)
	}
	return resolve.Closure(ctx, source, options)
}

func (r *reader) blueprint(ctx context.Context, set *component.Set) (archive.Files, error) {
	definition := r.config.Blueprint
	if definition.Inline != nil {
		files, err := blueprint.InlineFiles(definition.Inline.Filesystem)
		return files, invalidContent(err)
	}
	if r.repositories == nil {
		return nil, invalidContent(errNoRegistries)
	}
	if definition.OCI != nil {
		files, _, err := r.repositories.BlueprintArtifact(ctx, definition.OCI.Reference, "")
		return files, err
	}
	resource, err := set.Root().Resource(component.Named(definition.Reference.ResourceName))
	if err != nil {
		return nil, invalidContent(err)
	}
	return r.repositories.Blueprint(ctx, set.Origin(set.Root()), resource)
}

func details(reason string, codes ...lsv1alpha1.ErrorCode) failure.Details {
	d := failure.Details{Operation: "ReadContent", Reason: reason}
	for _, code := range codes {
		d.Codes = append(d.Codes, string(code))
	}
	return d
}

func invalidContent(err error) error {
	return failure.NewTerminal(details(ReasonContentInvalid, lsv1alpha1.ErrorConfigurationProblem), err)
}

func unfetched(err error) error { return failure.NewRetryable(details(ReasonContentNotFound), err) }

// unread adds the field to an error. The cause determines whether a retry helps.
func unread(field string, err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("spec.config.%s: %w", field, err)
	if failure.KindOf(err) == failure.Terminal {
		return failure.NewTerminal(
			details(cmp.Or(failure.DetailsOf(err).Reason, ReasonContentInvalid), lsv1alpha1.ErrorConfigurationProblem), err)
	}
	return failure.NewRetryable(details(cmp.Or(failure.DetailsOf(err).Reason, ReasonContentNotFound)), err)
}

// pullDocument returns the docker configuration with the credentials for an image and for the one with espalier-container; nil if there are
// none. If both are in one registry, and have different credentials there, that of the image counts.
func (d *Deployer) pullDocument(ctx context.Context, image string, scope *lsv1alpha1.Context) ([]byte, error) {
	if scope.OCMConfig == nil && len(scope.RegistryPullSecrets) == 0 {
		return nil, nil
	}
	known, err := credentials.OfContext(scope, d.contents(ctx, scope.Namespace))
	if err != nil {
		return nil, unfetched(fmt.Errorf("the Context %s/%s with the pull secrets: %w", scope.Namespace, scope.Name, err))
	}
	auths := map[string]any{}
	for _, pulled := range []string{d.options.HelperImage, image} {
		reference, err := component.ParseImageReference(pulled)
		if err != nil {
			return nil, invalidContent(err)
		}
		credential, found := known.Credentials.Find(placeOf(reference))
		if found && (credential.Username != "" || credential.Password != "") {
			auths[registryOf(reference)] = map[string]string{"username": credential.Username, "password": credential.Password}
		}
	}
	if len(auths) == 0 {
		return nil, nil
	}
	return json.Marshal(map[string]any{"auths": auths})
}

// registryOf returns the name of an image's registry in a docker configuration.
func registryOf(reference component.ImageReference) string {
	at := placeOf(reference)
	switch {
	case at.Host == dockerHub:
		return "https://index.docker.io/v1/"
	case strings.Contains(strings.SplitN(reference.Repository, "/", 2)[0], ":"):
		return at.Host + ":" + at.Port
	}
	return at.Host
}

const dockerHub = "docker.io"

// placeOf returns the address that an image is pulled from, parsed the way container runtimes parse image names.
func placeOf(reference component.ImageReference) credentials.Address {
	first, rest, found := strings.Cut(reference.Repository, "/")
	if !found || !strings.ContainsAny(first, ".:") && first != "localhost" {
		first, rest = dockerHub, reference.Repository
		if !found {
			rest = "library/" + rest
		}
	}
	host, port, hasPort := strings.Cut(first, ":")
	if !hasPort {
		port = "443"
	}
	return credentials.Address{Type: credentials.TypeOCIRegistry, Scheme: "https", Host: host, Port: port, Path: rest}
}
