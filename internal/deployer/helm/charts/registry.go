// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/component"
	"espalier.dev/internal/component/credentials"
	"espalier.dev/internal/component/repository"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/oci"
)

// Registries opens the repositories that the credentials and resolvers of a Context give to a job of a deploy item. They are
// stable during the job: a tag that was resolved once does not move.
type Registries func(c *lsv1alpha1.Context, contents credentials.Contents, item types.UID, job string) (*repository.Repositories, error)

// fromRegistry handles charts that are artifacts of a registry.
func (s *Source) fromRegistry(ctx context.Context, r Request, field, reference string) (Located, error) {
	return s.inRegistries(ctx, r, field, func(repositories *repository.Repositories, _ *lsv1alpha1.Context) ([]byte, error) {
		return repositories.ChartArtifact(ctx, reference)
	})
}

// fromComponent handles charts that are resources of components.
func (s *Source) fromComponent(ctx context.Context, r Request) (Located, error) {
	const field = "chart.resourceRef"
	key, err := component.ParseResourceKey(r.Chart.ResourceRef)
	if err != nil {
		return Located{}, invalid(fmt.Errorf("%s: %w", field, err))
	}
	return s.inRegistries(ctx, r, field, func(repositories *repository.Repositories, scope *lsv1alpha1.Context) ([]byte, error) {
		where, err := component.ParseRepositoryContext(scope.RepositoryContext)
		if err != nil {
			return nil, invalid(aboutContext(scope, fmt.Errorf("repositoryContext: %w", err)))
		}
		at := component.Coordinates{RepositoryContext: where, Name: key.Component.Name, Version: key.Component.Version}
		descriptor, err := repositories.Descriptor(ctx, at)
		if err != nil {
			return nil, err
		}
		resource, err := descriptor.Resource(key.Resource)
		if err != nil {
			return nil, invalid(err)
		}
		return repositories.Chart(ctx, at, resource)
	})
}

// inRegistries reads a chart from the repositories of the item's Context.
func (s *Source) inRegistries(
	ctx context.Context,
	r Request,
	field string,
	read func(*repository.Repositories, *lsv1alpha1.Context) ([]byte, error),
) (Located, error) {
	if s.options.Registries == nil {
		return Located{}, invalid(fmt.Errorf("%s needs a client for OCI registries and components, which this process does not have: use chart.archive or a chart repository over HTTP", field))
	}
	scope, err := s.scopeOf(ctx, r)
	if err != nil {
		return Located{}, err
	}
	if scope == nil {
		scope = &lsv1alpha1.Context{}
		scope.Namespace, scope.Name = r.Namespace, lsv1alpha1.DefaultContextName
	}
	repositories, err := s.options.Registries(scope, s.contents(ctx, r.Namespace), r.Item, r.Job)
	if err != nil {
		return Located{}, unfetched(aboutContext(scope, err))
	}
	data, err := read(repositories, scope)
	if err != nil {
		return Located{}, unread(scope, fmt.Errorf("%s: %w", field, err))
	}
	return Located{Read: func(context.Context) ([]byte, error) { return data, nil }}, nil
}

// contents reads the Secrets and ConfigMaps that a Context names, all of them in the Context's namespace.
func (s *Source) contents(ctx context.Context, namespace string) credentials.Contents {
	return func(kind, name string) (map[string][]byte, error) {
		data, err := s.content(ctx, kind, client.ObjectKey{Namespace: namespace, Name: name})
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("read %s %s/%s: %w", kind, namespace, name, err)
		}
		return data, nil
	}
}

func (s *Source) content(ctx context.Context, kind string, key client.ObjectKey) (map[string][]byte, error) {
	data := map[string][]byte{}
	if kind == credentials.KindSecret {
		var secret corev1.Secret
		if err := s.options.Host.Get(ctx, key, &secret); err != nil {
			return nil, err
		}
		for name, value := range secret.Data {
			data[name] = value
		}
		return data, nil
	}
	var configMap corev1.ConfigMap
	if err := s.options.Host.Get(ctx, key, &configMap); err != nil {
		return nil, err
	}
	for name, value := range configMap.BinaryData {
		data[name] = value
	}
	for name, value := range configMap.Data {
		data[name] = []byte(value)
	}
	return data, nil
}

// kindContext is the kind of Contexts in errors.
const kindContext = "Context"

func aboutContext(c *lsv1alpha1.Context, err error) error {
	return fmt.Errorf("%s %s/%s: %w", kindContext, c.Namespace, c.Name, err)
}

// unread explains why a registry did not provide a chart. The cause determines whether a retry helps.
func unread(scope *lsv1alpha1.Context, err error) error {
	reason := failure.DetailsOf(err).Reason
	if failure.KindOf(err) == failure.Terminal {
		return failure.NewTerminal(failure.Details{
			Operation: operation,
			Reason:    cmp.Or(reason, ReasonInvalid),
			Codes:     []string{string(lsv1alpha1.ErrorConfigurationProblem)},
		}, err)
	}
	details := failure.Details{Operation: operation, Reason: cmp.Or(reason, ReasonNotFetched)}
	if class := oci.ClassOf(err); class == oci.Unauthenticated || class == oci.Forbidden {
		details.Codes = []string{string(lsv1alpha1.ErrorUnauthorized)}
		err = fmt.Errorf("%w; %s", err, whoseCredentials(scope))
	}
	return failure.NewRetryable(details, err)
}

func whoseCredentials(scope *lsv1alpha1.Context) string {
	name := scope.Namespace + "/" + scope.Name
	switch {
	case scope.UID == "":
		return "there is no Context " + name + " with credentials: create it, and name a Secret of type kubernetes.io/dockerconfigjson in its registryPullSecrets"
	case len(scope.RegistryPullSecrets) == 0 && scope.OCMConfig == nil:
		return "Context " + name + " has no credentials: name a Secret of type kubernetes.io/dockerconfigjson in its registryPullSecrets"
	}
	return "the credentials are those of registryPullSecrets and ocmConfig of Context " + name
}
