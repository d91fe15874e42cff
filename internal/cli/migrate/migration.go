// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/config/crd"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/check"
	"espalier.dev/internal/cli/connect"
)

// pageSize is how many objects are in memory at once.
const pageSize = 100

// pause is between two looks at what is awaited.
const pause = time.Second

// migration is one way between two systems, there or back.
type migration struct {
	options
	config    *rest.Config
	client    client.Client
	discovery discovery.DiscoveryInterface
	// own are the definitions of this build, live those in the cluster that are of the same name or of a group that is taken over.
	own, live map[string]*apiextensionsv1.CustomResourceDefinition
	// theirs are the Deployments of the other controllers, ours those of Espalier.
	theirs, ours []appsv1.Deployment
	// record is what was there before; nil if nothing was taken over yet.
	record *record
	// running are objects whose jobs are awaited.
	running []job
}

func newMigration(config *rest.Config, opts options) (*migration, error) {
	m := &migration{options: opts, config: config, own: map[string]*apiextensionsv1.CustomResourceDefinition{}}
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	if m.discovery, err = discovery.NewDiscoveryClientForConfig(config); err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	if m.client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return nil, opts.access.Explain(err, "connect to the cluster", "")
	}
	all, err := crd.All()
	if err != nil {
		return nil, err
	}
	for _, definition := range all {
		m.own[definition.Name] = definition
	}
	return m, nil
}

func newScheme() (*runtime.Scheme, error) {
	scheme, err := connect.Scheme()
	if err != nil {
		return nil, err
	}
	for _, add := range []func(*runtime.Scheme) error{apiextensionsv1.AddToScheme, appsv1.AddToScheme, admissionv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("assemble the scheme: %w", err)
		}
	}
	return scheme, nil
}

// each reads objects page by page, and shows each page once. A list that has become too old while it was read goes on with what is there
// now: what was there before and after is seen.
func (m *migration) each(ctx context.Context, list client.ObjectList, visit func() error, options ...client.ListOption) error {
	token := ""
	for {
		if _, untyped := list.(*unstructured.UnstructuredList); !untyped {
			// A decoder may leave parts of an earlier page in the objects that it fills again.
			reflect.ValueOf(list).Elem().SetZero()
		}
		err := m.client.List(ctx, list, append(slices.Clone(options), client.Limit(pageSize), client.Continue(token))...)
		if fresh := freshToken(err); fresh != "" && fresh != token {
			token = fresh
			continue
		}
		if err != nil {
			return err
		}
		if err := visit(); err != nil {
			return err
		}
		if token = list.GetContinue(); token == "" {
			return nil
		}
	}
}

// freshToken is with what an expired list can be continued.
func freshToken(err error) string {
	var status apierrors.APIStatus
	if !apierrors.IsResourceExpired(err) || !errors.As(err, &status) {
		return ""
	}
	return status.Status().ListMeta.Continue
}

// survey finds what is in the cluster.
func (m *migration) survey(ctx context.Context) error {
	m.live = map[string]*apiextensionsv1.CustomResourceDefinition{}
	var definitions apiextensionsv1.CustomResourceDefinitionList
	err := m.each(ctx, &definitions, func() error {
		for _, definition := range definitions.Items {
			if m.own[definition.Name] != nil || m.system.owns(definition.Spec.Group) {
				m.live[definition.Name] = definition.DeepCopy()
			}
		}
		return nil
	})
	if err != nil {
		return m.access.Explain(err, "list CustomResourceDefinitions", "")
	}
	if err := m.surveyDeployments(ctx); err != nil {
		return err
	}
	m.record, err = m.readRecord(ctx)
	return err
}

func (m *migration) surveyDeployments(ctx context.Context) error {
	m.theirs, m.ours = nil, nil
	var deployments appsv1.DeploymentList
	err := m.each(ctx, &deployments, func() error {
		for _, deployment := range deployments.Items {
			if check.Runs(&deployment, m.system.images...) {
				m.theirs = append(m.theirs, deployment)
			}
			if check.Runs(&deployment, check.ControllerImage) {
				m.ours = append(m.ours, deployment)
			}
		}
		return nil
	})
	return m.access.Explain(err, "list Deployments of all namespaces", "")
}

// replicas is the number of pods that a Deployment should have.
func replicas(deployment *appsv1.Deployment) int32 {
	if deployment.Spec.Replicas == nil {
		return 1
	}
	return *deployment.Spec.Replicas
}

func runsAny(deployments []appsv1.Deployment) bool {
	return slices.ContainsFunc(deployments, func(d appsv1.Deployment) bool { return replicas(&d) > 0 })
}

// present reports whether the cluster has anything of the system.
func (m *migration) present() bool {
	for _, definition := range m.live {
		if m.system.owns(definition.Spec.Group) {
			return true
		}
	}
	return len(m.theirs) > 0
}

// nothing says that there is nothing to take over or to go back to.
func (m *migration) nothing() error {
	if m.back {
		return &cli.Problem{
			Code: cli.ExitNotFound, What: fmt.Sprintf("there is no record of a take-over from %s: ConfigMap %s/%s does not exist",
				m.system.title, m.home, m.system.recordName()), Where: m.access.Where(""),
			Next: []string{"name the namespace of the record with --system-namespace"},
		}
	}
	return &cli.Problem{
		Code: cli.ExitNotFound, What: "this cluster has neither CRDs nor controllers of " + m.system.title, Where: m.access.Where(""),
		Next: []string{"name another cluster with --context or --kubeconfig, or install Espalier without a migration: docs/install.md"},
	}
}
