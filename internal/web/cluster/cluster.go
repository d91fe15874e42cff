// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package cluster creates the clients of the web UI: for its own service account, and for its users.
package cluster

import (
	"fmt"
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/api"
	gitops "espalier.dev/api/gitops/v1alpha1"
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// Maker creates clients that share their knowledge of kinds, and connections if they belong to the same person.
type Maker struct {
	config *rest.Config
	scheme *runtime.Scheme
	mapper meta.RESTMapper
}

// NewMaker returns a Maker for the cluster of a configuration.
func NewMaker(config *rest.Config) (*Maker, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		api.AddToScheme, corev1.AddToScheme, eventsv1.AddToScheme, authenticationv1.AddToScheme, authorizationv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("assemble the scheme of the web UI: %w", err)
		}
	}
	own := rest.CopyConfig(config)
	own.QPS = -1                           // The API server throttles clients itself.
	own.WarningHandler = rest.NoWarnings{} // The pages cannot show warnings.
	own.WarningHandlerWithContext = nil    // As above.
	return &Maker{config: own, scheme: scheme, mapper: mapper()}, nil
}

// mapper maps kinds to resources without asking a server, which may be unreachable when the web UI starts.
func mapper() meta.RESTMapper {
	ours := lsv1alpha1.SchemeGroupVersion
	m := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []string{"Installation", "Execution", "DeployItem", "DataObject", "Target", "Context"} {
		m.Add(ours.WithKind(kind), meta.RESTScopeNamespace)
	}
	for _, kind := range []string{"Secret", "ConfigMap"} {
		m.Add(corev1.SchemeGroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	m.Add(eventsv1.SchemeGroupVersion.WithKind("Event"), meta.RESTScopeNamespace)
	m.Add(pipelines.SchemeGroupVersion.WithKind("Pipeline"), meta.RESTScopeNamespace)
	m.Add(gitops.SchemeGroupVersion.WithKind("GitopsCluster"), meta.RESTScopeNamespace)
	for _, kind := range []string{"SelfSubjectReview", "TokenReview"} {
		m.Add(authenticationv1.SchemeGroupVersion.WithKind(kind), meta.RESTScopeRoot)
	}
	for _, kind := range []string{"SelfSubjectAccessReview", "SubjectAccessReview"} {
		m.Add(authorizationv1.SchemeGroupVersion.WithKind(kind), meta.RESTScopeRoot)
	}
	return m
}

// Person is a user's connection to the cluster. Config is for further clients of the same person.
type Person struct {
	Client client.WithWatch
	Config *rest.Config
}

// Own returns the service account of the configuration.
func (m *Maker) Own() (Person, error) { return m.connect(rest.CopyConfig(m.config)) }

// WithToken returns the owner of the token.
func (m *Maker) WithToken(token string) (Person, error) {
	config := rest.AnonymousClientConfig(m.config)
	config.BearerToken = token
	return m.connect(config)
}

// As returns a user whom the service account of the configuration may impersonate.
func (m *Maker) As(user string, groups []string) (Person, error) {
	config := rest.CopyConfig(m.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	return m.connect(config)
}

func (m *Maker) connect(config *rest.Config) (Person, error) {
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		return Person{}, fmt.Errorf("connect to the cluster at %s: %w", config.Host, err)
	}
	c, err := m.over(config, transport)
	return Person{Client: c, Config: config}, err
}

func (m *Maker) over(config *rest.Config, transport *http.Client) (client.WithWatch, error) {
	c, err := client.NewWithWatch(config, client.Options{Scheme: m.scheme, Mapper: m.mapper, HTTPClient: transport})
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster at %s: %w", config.Host, err)
	}
	return c, nil
}
