// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/check"
	"espalier.dev/internal/cli/manifest"
	"espalier.dev/internal/definitions"
	buildversion "espalier.dev/internal/version"
)

// shown is how many objects a report names for each code, in order to stay readable and small.
const shown = 100

// examination collects findings.
type examination struct {
	*migration
	report *Report
	check  string
	count  map[string]int
	// collected is what conclude looks at.
	collected collection
	// trackJobs says that jobs are those of the system that is left.
	trackJobs bool
}

// examine makes all checks. It changes nothing.
func (m *migration) examine(ctx context.Context) (*Report, error) {
	info, err := m.discovery.ServerVersion()
	if err != nil {
		return nil, m.access.Explain(err, "ask the API server for its version", "")
	}
	if err := m.prepare(ctx); err != nil {
		return nil, err
	}
	e := &examination{migration: m, count: map[string]int{}, collected: newCollection(), report: &Report{
		System: m.system.title, Client: buildversion.Get().Version, Server: info.GitVersion, Back: m.back,
		Controllers: []Controller{}, Definitions: []Definition{}, Findings: []Finding{},
	}}
	e.trackJobs = m.system.jobs && (m.back || runsAny(m.theirs) || !runsAny(m.ours))
	m.running = nil
	for _, check := range []struct {
		title string
		do    func(context.Context) error
	}{
		{"controllers", e.controllers}, {"definitions", e.definitions}, {"webhooks", e.webhooks}, {"objects", e.objects},
	} {
		e.check = check.title
		e.report.Checks = append(e.report.Checks, check.title)
		if err := check.do(ctx); err != nil {
			return nil, err
		}
	}
	e.summarise()
	return e.report, nil
}

// prepare finds out whether there is anything to examine, and whether the user may.
func (m *migration) prepare(ctx context.Context) error {
	if err := m.checkRights(ctx); err != nil {
		return err
	}
	if err := m.survey(ctx); err != nil {
		return err
	}
	if m.back && m.record == nil || !m.back && !m.present() {
		return m.nothing()
	}
	return nil
}

// add notes a finding. Of each code only some objects are named.
func (e *examination) add(finding Finding) {
	if e.count[finding.Code]++; e.count[finding.Code] > shown {
		return
	}
	finding.Check, finding.Ignored = e.check, slices.Contains(e.ignored, finding.Code)
	finding.Reference = referenceTo(finding.Code)
	e.report.Findings = append(e.report.Findings, finding)
}

// summarise says how many objects were not named.
func (e *examination) summarise() {
	for _, code := range codeNames() {
		more := e.count[code] - shown
		if more <= 0 {
			continue
		}
		at := slices.IndexFunc(e.report.Findings, func(f Finding) bool { return f.Code == code })
		rest := e.report.Findings[at]
		rest.Object, rest.Message, rest.Next = fmt.Sprintf("%d more objects", more), "have the same finding", nil
		e.report.Findings = append(e.report.Findings, rest)
	}
}

// blocking are the findings that stop the command. Jobs are awaited as long as a controller runs that can end them.
func (m *migration) blocking(report *Report) []Finding {
	awaited := !m.back && runsAny(m.theirs)
	return slices.DeleteFunc(report.errors(), func(f Finding) bool {
		return awaited && (f.Code == codeJobRunning || f.Code == codeJobRequested)
	})
}

// controllers looks at who works.
func (e *examination) controllers(ctx context.Context) error {
	for i := range e.theirs {
		e.controller(&e.theirs[i])
	}
	if e.back {
		e.wayBack()
		return nil
	}
	if len(e.theirs) == 0 {
		e.elsewhere(ctx)
	}
	if runsAny(e.theirs) {
		for _, deployment := range e.ours {
			e.espalierRuns(&deployment, "works on the same objects as "+e.system.title+", and both together damage them")
		}
	}
	return e.otherSystem(ctx)
}

func (e *examination) controller(deployment *appsv1.Deployment) {
	containers := deployment.Spec.Template.Spec.Containers
	controller := Controller{
		Namespace: deployment.Namespace, Name: deployment.Name, Image: containers[0].Image, Replicas: replicas(deployment),
	}
	for _, container := range containers {
		for _, variable := range container.Env {
			if variable.Name == "HELM_DRIVER" && strings.HasPrefix(strings.ToLower(variable.Value), "configmap") {
				e.add(Finding{
					Level: check.Wrong, Code: codeHelmDriver, Object: nameOf(deployment),
					Message: "stores Helm releases in ConfigMaps, and Espalier looks for them in Secrets",
					Next:    []string{"convert the releases (docs/migration.md), then run the command with --ignore " + codeHelmDriver},
				})
			}
		}
	}
	e.report.Controllers = append(e.report.Controllers, controller)
	if manager := manifest.ManagerOf(deployment); manager != "" && controller.Replicas > 0 && !e.back {
		e.add(Finding{
			Level: check.Doubtful, Code: codeManagedDeployment, Object: nameOf(deployment),
			Message: "is managed by " + manager + ", which may scale it up again",
			Next:    []string{"suspend the manager of this Deployment before you take over"},
		})
	}
}

func nameOf(deployment *appsv1.Deployment) string {
	return "Deployment " + deployment.Namespace + "/" + deployment.Name
}

func (e *examination) espalierRuns(deployment *appsv1.Deployment, why string) {
	if replicas(deployment) == 0 {
		return
	}
	e.add(Finding{
		Level: check.Wrong, Code: codeEspalierRuns, Object: nameOf(deployment), Message: why,
		Next: []string{e.scaleCommand(deployment.Namespace, deployment.Name, 0)},
	})
}

func (m *migration) scaleCommand(namespace, name string, count int32) string {
	return fmt.Sprintf("kubectl -n %s scale deployment/%s --replicas %d", namespace, name, count)
}

// elsewhere is for definitions without controllers: these may run in another cluster.
func (e *examination) elsewhere(ctx context.Context) {
	message := "no Deployment of it was found in this cluster. If it runs in another cluster, it continues to work on the same objects"
	if since, name := e.lastSign(ctx); name != "" {
		message = fmt.Sprintf("no Deployment of it was found in this cluster, but %s was updated %s ago: it runs somewhere else",
			name, since.Round(time.Second))
	}
	e.add(Finding{
		Level: check.Wrong, Code: codeControllersElsewhere, Object: e.system.title, Message: message,
		Next: []string{
			"stop it where it runs, or make sure that it does not run any more",
			"then run the command with --ignore " + codeControllersElsewhere,
		},
	})
}

// fresh is how old the last sign of life may be. Landscaper gives one every minute.
const fresh = 5 * time.Minute

// lastSign is the time of Landscaper's last sign of life. What cannot be read is no sign.
func (e *examination) lastSign(ctx context.Context) (time.Duration, string) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: lsv1alpha1.GroupName, Version: "v1alpha1", Kind: "LsHealthCheckList"})
	if e.live["lshealthchecks."+lsv1alpha1.GroupName] == nil || e.client.List(ctx, list) != nil {
		return 0, ""
	}
	for _, item := range list.Items {
		text, _, _ := unstructured.NestedString(item.Object, "lastUpdateTime")
		at, err := time.Parse(time.RFC3339, text)
		if age := e.env.Now().Sub(at); err == nil && age < fresh {
			return age, "LsHealthCheck " + item.GetNamespace() + "/" + item.GetName()
		}
	}
	return 0, ""
}

// otherSystem warns of the other system that Espalier replaces, which is taken over by itself.
func (e *examination) otherSystem(ctx context.Context) error {
	var list appsv1.DeploymentList
	err := e.each(ctx, &list, func() error {
		for _, deployment := range list.Items {
			if replicas(&deployment) == 0 || !check.Runs(&deployment, e.system.others...) {
				continue
			}
			e.add(Finding{
				Level: check.Doubtful, Code: codeOtherSystem, Object: nameOf(&deployment),
				Message: "belongs to " + e.system.another + ", which this command leaves running. Its CRDs stay as they are",
				Next: []string{
					"take it over, too, before you start the controllers of Espalier: espalier migrate --help",
					"or leave its controllers out with --controllers",
				},
			})
		}
		return nil
	})
	return e.access.Explain(err, "list Deployments of all namespaces", "")
}

// wayBack checks which controllers run before going back, and which will run again.
func (e *examination) wayBack() {
	for _, deployment := range e.ours {
		e.espalierRuns(&deployment, "still works")
	}
	for _, recorded := range e.record.State.Deployments {
		found := slices.ContainsFunc(e.theirs, func(d appsv1.Deployment) bool { return recorded.is(&d) })
		if !found {
			e.add(Finding{
				Level: check.Doubtful, Code: codeDeploymentGone, Object: "Deployment " + recorded.Namespace + "/" + recorded.Name,
				Message: "does not exist any more, so it is not started again", Next: []string{"install " + e.system.title + " again afterwards"},
			})
		}
	}
}

// definitions compares the definitions with those that take their place.
func (e *examination) definitions(context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(e.live)) {
		there := e.live[name]
		if !e.system.owns(there.Spec.Group) {
			continue
		}
		e.report.Definitions = append(e.report.Definitions, describe(there))
		wanted, err := e.target(name)
		if err != nil {
			return err
		}
		if wanted == nil {
			e.notServed(there)
			continue
		}
		e.replaceable(there, wanted)
	}
	return nil
}

func describe(definition *apiextensionsv1.CustomResourceDefinition) Definition {
	d := Definition{Name: definition.Name, Stored: slices.Clone(definition.Status.StoredVersions), Espalier: definitions.IsOurs(definition)}
	for _, version := range definition.Spec.Versions {
		d.Versions = append(d.Versions, version.Name)
	}
	return d
}

// target is the CRD that replaces the one of that name; nil if there is none.
func (m *migration) target(name string) (*apiextensionsv1.CustomResourceDefinition, error) {
	if !m.back {
		return m.own[name], nil
	}
	return m.record.definition(name)
}

func (e *examination) notServed(there *apiextensionsv1.CustomResourceDefinition) {
	if e.back {
		return
	}
	finding := Finding{
		Level: check.Doubtful, Code: codeKindNotServed, Object: "CustomResourceDefinition " + there.Name,
		Message: "is a kind that Espalier does not serve. The CRD and its objects stay, but no controller processes them",
	}
	if slices.Contains(e.system.unused, there.Spec.Names.Plural) {
		finding.Level = Note
		finding.Message = "is a kind that only " + e.system.title + " itself uses. The CRD and its objects stay"
		finding.Next = []string{"delete it when you are sure that you do not go back: kubectl delete crd " + there.Name}
	}
	e.add(finding)
}

func (e *examination) replaceable(there, wanted *apiextensionsv1.CustomResourceDefinition) {
	options := definitions.Options{Version: e.report.Client, Back: e.back}
	if err := definitions.Refusal(there, wanted, options); err != nil {
		e.add(Finding{Level: check.Wrong, Code: codeDefinition, Object: "CustomResourceDefinition " + there.Name, Message: err.Error()})
	}
}

// webhooks looks for third-party ones, which stay.
func (e *examination) webhooks(ctx context.Context) error {
	if e.back {
		return nil
	}
	all, err := e.readWebhooks(ctx)
	if err != nil {
		return err
	}
	for _, w := range all {
		if w.concerns && !w.own {
			e.add(Finding{
				Level: check.Doubtful, Code: codeWebhook, Object: w.String(),
				Message: "is called before changes of these kinds, and is not one of " + e.system.title +
					": it stays. If it rejects what Espalier writes, jobs fail",
				Next: []string{"make sure that it accepts the controllers of Espalier"},
			})
		}
	}
	return nil
}

// concernsGroups reports whether a webhook names one of the groups. Those that are asked about everything are no news.
func (s *system) concernsGroups(rules []admissionv1.RuleWithOperations) bool {
	return slices.ContainsFunc(rules, func(rule admissionv1.RuleWithOperations) bool {
		return slices.ContainsFunc(rule.APIGroups, s.owns)
	})
}

// needsSomebody ends a command that waits for what does not come by itself.
func (m *migration) needsSomebody(code int, what string, next ...string) error {
	return &cli.Problem{Code: code, What: what, Where: m.access.Where(""), Next: next}
}
