// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"fmt"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/connect"
	buildversion "espalier.dev/internal/version"
)

// oldestServer is the first version of Kubernetes that accepts our definitions.
const oldestServer = "1.33"

// Subject is what is examined.
type Subject struct {
	// Before says that nothing is installed yet.
	Before bool
	// System is the namespace of the controllers, Account their service account there.
	System, Account string
	// Namespace is where objects of users are looked at; empty for all.
	Namespace string
	// Targets says that the clusters of Targets are looked at, each for TargetTimeout at most.
	Targets       bool
	TargetTimeout time.Duration
	// SendTokens permits to send tokens of service accounts to the clusters of Targets with oidcConfig.
	SendTokens bool
	// AllRights asks the clusters that nothing has been deployed to whether credentials may do everything.
	AllRights bool
	Now       time.Time
	Access    *connect.Access
	Config    *rest.Config
	Client    client.Client
	Discovery discovery.DiscoveryInterface
}

// Connect completes a subject by the way to its cluster.
func Connect(access *connect.Access, env cli.Environment, subject Subject) (Subject, error) {
	config, err := access.Config()
	if err != nil {
		return subject, err
	}
	scheme, err := newScheme()
	if err != nil {
		return subject, err
	}
	subject.Access, subject.Config, subject.Now = access, config, env.Now()
	if subject.Discovery, err = discovery.NewDiscoveryClientForConfig(config); err != nil {
		return subject, fmt.Errorf("connect to the cluster: %w", err)
	}
	if subject.Namespace, err = access.Namespace(); err != nil {
		return subject, err
	}
	if access.AllNamespaces() {
		subject.Namespace = ""
	}
	if subject.Client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return subject, access.Explain(err, "connect to the cluster", "")
	}
	return subject, nil
}

func newScheme() (*runtime.Scheme, error) {
	scheme, err := connect.Scheme()
	if err != nil {
		return nil, err
	}
	for _, add := range []func(*runtime.Scheme) error{
		apiextensionsv1.AddToScheme, appsv1.AddToScheme, authorizationv1.AddToScheme, coordinationv1.AddToScheme, admissionv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("assemble the scheme: %w", err)
		}
	}
	return scheme, nil
}

// examination collects findings.
type examination struct {
	Subject
	report Report
	// check is the one that is being made.
	check string
	// arguments are those of the controllers' Deployment, if there is one.
	arguments []string
	// account tells that the controllers' service account exists.
	account bool
	// items are the deploy items, as far as they could be read.
	items []lsv1alpha1.DeployItem
}

// Examine makes all checks. It fails only if the API server cannot be reached at all.
func Examine(ctx context.Context, subject Subject) (*Report, error) {
	e := &examination{Subject: subject}
	e.report.Client, e.report.Findings = buildversion.Get().Version, []Finding{}
	info, err := subject.Discovery.ServerVersion()
	if err != nil {
		return nil, subject.Access.Explain(err, "ask the API server for its version", "")
	}
	e.report.Server = info.GitVersion
	e.begin("version of the API server")
	e.serverVersion()
	type step struct {
		title string
		do    func(context.Context)
	}
	checks := []step{
		{"CRDs", e.definitions},
		{"controllers", e.controllers},
		{"rights of the controllers", e.accountRights},
		{"other controllers", e.others},
		{"deployers", e.deployers},
		{"installations", e.installations},
		{"pipelines", e.pipelines},
	}
	if subject.Targets {
		checks = append(checks, step{"targets", e.targets})
	}
	if subject.Before {
		checks = checks[:1]
		checks = append(checks, step{"your rights", e.ownRights}, step{"other controllers", e.others})
	}
	for _, check := range checks {
		e.begin(check.title)
		check.do(ctx)
	}
	return &e.report, nil
}

func (e *examination) begin(title string) {
	e.check = title
	e.report.Checks = append(e.report.Checks, title)
}

func (e *examination) add(level Level, object, message string, next ...string) {
	e.report.Findings = append(e.report.Findings, Finding{Level: level, Check: e.check, Object: object, Message: message, Next: next})
}

// unknown tells that something could not be looked at.
func (e *examination) unknown(object string, err error) {
	next := []string{"have a user with more rights run this check"}
	if !apierrors.IsForbidden(err) {
		next = []string{"run the check again"}
	}
	e.add(Unknown, object, "cannot be read: "+err.Error(), next...)
}

func (e *examination) serverVersion() {
	found, err := version.ParseGeneric(e.report.Server)
	if err != nil {
		e.add(Unknown, "the API server", fmt.Sprintf("reports the invalid version %q", e.report.Server))
		return
	}
	if found.LessThan(version.MustParseGeneric(oldestServer)) {
		e.add(Wrong, "the API server", fmt.Sprintf("has version %s, but the CRDs need %s or later", e.report.Server, oldestServer),
			"upgrade the cluster")
	}
}
