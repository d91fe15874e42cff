// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelinesv1alpha1 "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/deployer"
	"espalier.dev/internal/artifact"
	"espalier.dev/internal/controller"
	"espalier.dev/internal/controller/deployitems"
	"espalier.dev/internal/controller/executions"
	"espalier.dev/internal/controller/installations"
	"espalier.dev/internal/controller/pipelines"
	"espalier.dev/internal/controller/targetsyncs"
	"espalier.dev/internal/deployer/container"
	"espalier.dev/internal/deployer/helm"
	"espalier.dev/internal/deployer/manifest"
	"espalier.dev/internal/deployer/mock"
)

// Controller is a controller that a manager can run.
type Controller struct {
	// Name is its name in selections and flags.
	Name string
	// Description describes in one line what it does.
	Description string
	// Kinds are those that it requires. It is set up once the cluster serves all of them.
	Kinds []schema.GroupVersionKind
	// Counts is a list type of the kind that the metrics of state count, if this controller counts it.
	Counts client.ObjectList
	// Setup adds it to a manager.
	Setup func(ctrl.Manager, Options) error
}

var (
	// landscaperKinds are watched by the controllers of installations.
	landscaperKinds = kindsOf(lsv1alpha1.SchemeGroupVersion, "Installation", "Execution", "DeployItem", "DataObject", "Target", "Context")
	targetSyncKinds = kindsOf(lsv1alpha1.SchemeGroupVersion, "TargetSync", "Target")
	pipelineKinds   = kindsOf(pipelinesv1alpha1.SchemeGroupVersion, "Pipeline")
)

func kindsOf(version schema.GroupVersion, kinds ...string) []schema.GroupVersionKind {
	var result []schema.GroupVersionKind
	for _, kind := range kinds {
		result = append(result, version.WithKind(kind))
	}
	return result
}

// all is in the order of the help texts.
var all = []Controller{
	{
		Name:        controller.ContextsName,
		Kinds:       landscaperKinds,
		Description: "keep a Context named default in every namespace",
		Setup: func(mgr ctrl.Manager, opts Options) error {
			return controller.SetupContexts(mgr, controller.ContextsOptions{
				Namespaces:         opts.Namespaces,
				ExcludedNamespaces: opts.DefaultContextExcludeNamespaces,
				Workers:            opts.workersOf(controller.ContextsName),
			})
		},
	},
	{
		Name:        installations.Name,
		Kinds:       landscaperKinds,
		Counts:      &lsv1alpha1.InstallationList{},
		Description: "run the jobs of installations",
		Setup: func(mgr ctrl.Manager, opts Options) error {
			return installations.Setup(mgr, installations.Options{
				Workers:      opts.workersOf(installations.Name),
				KeyNamespace: opts.systemNamespace(),
				Registries:   opts.registries,
				Verification: installations.VerificationPolicy(opts.Registries.Verification),
				Git:          artifact.NewGit(dialRules(mgr)),
				Quotas:       opts.Quotas.limits(),
			})
		},
	},
	{
		Name:        executions.Name,
		Kinds:       landscaperKinds,
		Counts:      &lsv1alpha1.ExecutionList{},
		Description: "run the jobs of executions: create, start, await and delete their deploy items",
		Setup: func(mgr ctrl.Manager, opts Options) error {
			return executions.Setup(mgr, executions.Options{Workers: opts.workersOf(executions.Name)})
		},
	},
	{
		Name:        deployitems.Name,
		Kinds:       landscaperKinds,
		Counts:      &lsv1alpha1.DeployItemList{},
		Description: "fail deploy items that time out, and delete those that are deleted without uninstalling",
		Setup: func(mgr ctrl.Manager, opts Options) error {
			return deployitems.Setup(mgr, deployitems.Options{
				PickupTimeout: opts.DeployItemPickupTimeout,
				Workers:       opts.workersOf(deployitems.Name),
			})
		},
	},
	{
		Name:        targetsyncs.Name,
		Kinds:       targetSyncKinds,
		Description: "create Targets from kubeconfigs and shoots in other clusters, and renew their credentials",
		Setup: func(mgr ctrl.Manager, opts Options) error {
			return targetsyncs.Setup(mgr, targetsyncs.Options{Workers: opts.workersOf(targetsyncs.Name)})
		},
	},
	{
		Name:        pipelines.Name,
		Kinds:       pipelineKinds,
		Counts:      &pipelinesv1alpha1.PipelineList{},
		Description: "promote healthy revisions through the environments of pipelines",
		Setup:       setupPipelines,
	},
	{
		Name:        manifest.Name,
		Kinds:       landscaperKinds,
		Description: "deployer that applies objects to target clusters",
		Setup: func(mgr ctrl.Manager, opts Options) error {
			return setupInClusters(mgr, manifest.New(), opts.deployerOptions(manifest.Name))
		},
	},
	{
		Name:        helm.Name,
		Kinds:       landscaperKinds,
		Description: "deployer that installs Helm charts in target clusters, or applies their rendered objects",
		Setup:       setupHelm,
	},
	{
		Name:        container.Name,
		Kinds:       landscaperKinds,
		Description: "deployer that runs images in pods",
		Setup:       setupContainer,
	},
	{
		Name:        mock.Name,
		Kinds:       landscaperKinds,
		Description: "deployer that deploys nothing and reports what the deploy item requests, for tests",
		Setup: func(mgr ctrl.Manager, opts Options) error {
			return deployer.Setup(mgr, mock.New(), opts.deployerOptions(mock.Name))
		},
	},
}

// Controllers lists all controllers.
func Controllers() []Controller { return slices.Clone(all) }

// Select returns the selected controllers. In a selection, "*" stands for all, a name for itself, and "-name" excludes one, wherever it
// stands. A selection of only exclusions starts with all.
func Select(selection []string) ([]Controller, error) {
	included, excluded := map[string]bool{}, map[string]bool{}
	for _, entry := range selection {
		if err := checkEntry(entry); err != nil {
			return nil, err
		}
		if name, minus := strings.CutPrefix(entry, "-"); minus {
			excluded[name] = true
		} else {
			included[name] = true
		}
	}
	everything := included["*"] || len(included) == 0 && len(excluded) > 0
	return slices.DeleteFunc(Controllers(), func(c Controller) bool {
		return excluded[c.Name] || !everything && !included[c.Name]
	}), nil
}

func checkEntry(entry string) error {
	if entry == "*" || known(strings.TrimPrefix(entry, "-")) {
		return nil
	}
	return unknownController(entry)
}

func unknownController(name string) error {
	return fmt.Errorf("unknown controller %q: the controllers are %s", name, strings.Join(namesOf(all), ", "))
}

func known(name string) bool { return slices.Contains(namesOf(all), name) }

func namesOf(controllers []Controller) []string {
	var names []string
	for _, c := range controllers {
		names = append(names, c.Name)
	}
	return names
}
