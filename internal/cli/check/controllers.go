// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

const (
	// ControllerImage is the name of the image of our controllers.
	ControllerImage = "espalier-controller"
	// controllerName is that of the Deployment; names of leases begin with it.
	controllerName = ControllerImage
	// missedRenewals is how many durations of a lease may pass before its holder counts as lost.
	missedRenewals = 3
)

// controllers looks at the Deployments and leases of our controllers.
func (e *examination) controllers(ctx context.Context) {
	var deployments appsv1.DeploymentList
	if err := e.Client.List(ctx, &deployments, client.InNamespace(e.System)); err != nil {
		e.unknown("Deployments in namespace "+e.System, err)
		return
	}
	running := 0
	for _, deployment := range deployments.Items {
		if !Runs(&deployment, ControllerImage) {
			continue
		}
		running++
		e.ready(&deployment)
		container := deployment.Spec.Template.Spec.Containers[0]
		e.arguments = append(slices.Clone(container.Command), container.Args...)
	}
	var leases coordinationv1.LeaseList
	if err := e.Client.List(ctx, &leases, client.InNamespace(e.System)); err != nil {
		e.unknown("Leases in namespace "+e.System, err)
		return
	}
	led := 0
	for _, lease := range leases.Items {
		if strings.HasPrefix(lease.Name, controllerName) {
			led++
			e.held(&lease)
		}
	}
	switch {
	case running == 0 && led == 0:
		e.add(Doubtful, "namespace "+e.System, "has neither a Deployment nor a Lease of espalier-controller, so no controller seems to run",
			"install Espalier (docs/install.md), or set the namespace of the controllers with --system-namespace")
	case led == 0 && e.argument("--leader-elect") != "false":
		e.add(Wrong, "namespace "+e.System, "has no Lease of espalier-controller: none of its processes has ever been active",
			"kubectl -n "+e.System+" logs deployment/"+controllerName)
	}
}

func (e *examination) ready(deployment *appsv1.Deployment) {
	object := "Deployment " + deployment.Namespace + "/" + deployment.Name
	want := int32(1)
	if deployment.Spec.Replicas != nil {
		want = *deployment.Spec.Replicas
	}
	logs := "kubectl -n " + deployment.Namespace + " logs deployment/" + deployment.Name
	switch {
	case want == 0:
		e.add(Wrong, object, "is scaled to zero, so no controller runs",
			fmt.Sprintf("kubectl -n %s scale deployment/%s --replicas 1", deployment.Namespace, deployment.Name))
	case deployment.Status.AvailableReplicas == 0:
		e.add(Wrong, object, "has no available pod"+because(deployment), logs)
	case deployment.Status.AvailableReplicas < want:
		e.add(Doubtful, object, fmt.Sprintf("has %d of %d pods available%s", deployment.Status.AvailableReplicas, want, because(deployment)), logs)
	}
}

func because(deployment *appsv1.Deployment) string {
	for _, condition := range deployment.Status.Conditions {
		if condition.Status != "True" && condition.Message != "" {
			return ": " + condition.Message
		}
	}
	return ""
}

func (e *examination) held(lease *coordinationv1.Lease) {
	if e.shared(lease) {
		return
	}
	object := "Lease " + lease.Namespace + "/" + lease.Name
	spec := lease.Spec
	if spec.HolderIdentity == nil || *spec.HolderIdentity == "" || spec.RenewTime == nil || spec.LeaseDurationSeconds == nil {
		e.add(Wrong, object, "has no holder, so no controller is active", "kubectl -n "+lease.Namespace+" get pods")
		return
	}
	silence := e.Now.Sub(spec.RenewTime.Time)
	if silence > missedRenewals*time.Duration(*spec.LeaseDurationSeconds)*time.Second {
		message := fmt.Sprintf("was last renewed by %s %s ago, so no controller is active", *spec.HolderIdentity, silence.Round(time.Second))
		e.add(Wrong, object, message, "kubectl -n "+lease.Namespace+" get pods")
	}
}

// Images of controllers that work on the same objects as ours. Neither knows of the other's locks.
var (
	LandscaperImages = []string{
		"landscaper-controller", "landscaper-webhooks-server", "target-sync-controller", "helm-deployer-controller",
		"manifest-deployer-controller", "container-deployer-controller", "mock-deployer-controller",
	}
	WeaveImages = []string{"pipeline-controller"}
)

// others looks for controllers that we take over from.
func (e *examination) others(ctx context.Context) {
	var deployments appsv1.DeploymentList
	if err := e.Client.List(ctx, &deployments); err != nil {
		e.unknown("Deployments in all namespaces", err)
		return
	}
	level := Wrong
	if e.Before {
		level = Doubtful
	}
	for _, deployment := range deployments.Items {
		if deployment.Spec.Replicas != nil && *deployment.Spec.Replicas == 0 ||
			!Runs(&deployment, append(slices.Clone(LandscaperImages), WeaveImages...)...) {
			continue
		}
		e.add(level, "Deployment "+deployment.Namespace+"/"+deployment.Name,
			"runs a controller that works on the same objects as Espalier, and both together damage them",
			fmt.Sprintf("stop one of them (docs/migration.md): kubectl -n %s scale deployment/%s --replicas 0", deployment.Namespace, deployment.Name))
	}
	var webhooks admissionv1.ValidatingWebhookConfigurationList
	if err := e.Client.List(ctx, &webhooks); err != nil {
		e.unknown("ValidatingWebhookConfigurations", err)
		return
	}
	for _, configuration := range webhooks.Items {
		if slices.ContainsFunc(configuration.Webhooks, concernsUs) {
			e.add(Doubtful, "ValidatingWebhookConfiguration "+configuration.Name,
				"intercepts every change to objects of Espalier, which has no webhooks itself: if it does not answer, changes fail",
				"if it is that of Landscaper: kubectl delete validatingwebhookconfiguration "+configuration.Name)
		}
	}
}

func concernsUs(webhook admissionv1.ValidatingWebhook) bool {
	return slices.ContainsFunc(webhook.Rules, func(rule admissionv1.RuleWithOperations) bool {
		return slices.Contains(rule.APIGroups, lsv1alpha1.GroupName) || slices.Contains(rule.APIGroups, pipelines.SchemeGroupVersion.Group)
	})
}

// Runs tells by the names of its images, without registry, tag and digest, what a Deployment is.
func Runs(deployment *appsv1.Deployment, images ...string) bool {
	for _, container := range deployment.Spec.Template.Spec.Containers {
		name, _, _ := strings.Cut(container.Image, "@")
		name, _, _ = strings.Cut(path.Base(name), ":")
		if slices.Contains(images, name) {
			return true
		}
	}
	return false
}
