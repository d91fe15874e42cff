// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/definitions"
	buildversion "espalier.dev/internal/version"
)

// fieldOwner is the name under which the API server remembers who has written the definitions.
const fieldOwner = "espalier-migrate"

// attempts are how often something is written again that others have written meanwhile.
const attempts = 10

// action is one step. Each can be repeated, and finds out by itself what was done before.
type action struct {
	title string
	do    func(context.Context) ([]Step, error)
}

// perform does all steps in their order.
func (m *migration) perform(ctx context.Context, report *Report) error {
	actions := []action{
		{"Record the current state", m.note},
		{"Stop the controllers of " + m.system.title, m.stop},
		{"Wait until their pods have stopped", func(ctx context.Context) ([]Step, error) { return nil, m.awaitPods(ctx, m.theirs) }},
		{"Remove their webhooks", m.removeWebhooks},
		{"Install the CRDs of Espalier", m.install},
		{"Finish the record", m.finish},
	}
	if m.back {
		actions = []action{
			{"Wait until the pods of Espalier have stopped", func(ctx context.Context) ([]Step, error) { return nil, m.awaitPods(ctx, m.ours) }},
			{"Remove the finalizer of Espalier", m.removeFinalizer},
			{"Restore the CRDs of " + m.system.title, m.restoreDefinitions},
			{"Start the controllers of " + m.system.title, m.restoreDeployments},
			{"Restore their webhooks", m.restoreWebhooks},
			{"Delete the record", m.forget},
		}
		if m.system.finalizer == "" {
			actions = slices.Delete(actions, 1, 2)
		}
	} else if m.system.jobs && runsAny(m.theirs) {
		wait := func(ctx context.Context) ([]Step, error) { return nil, m.awaitJobs(ctx, report) }
		actions = slices.Insert(actions, 0, action{"Wait until running jobs have finished", wait})
	}
	for i, a := range actions {
		m.access.Tell("[%d/%d] %s", i+1, len(actions), a.title)
		steps, err := a.do(ctx)
		for _, step := range steps {
			m.access.Tell("      %s: %s", step.Object, step.Done)
		}
		report.Steps = append(report.Steps, steps...)
		if err != nil {
			return m.stopped(ctx, a.title, err)
		}
	}
	report.Next, report.Remains = m.next(), m.remains()
	return nil
}

// stopped says how to continue after an error.
func (m *migration) stopped(ctx context.Context, title string, err error) error {
	var problem *cli.Problem
	if !errors.As(err, &problem) {
		problem = &cli.Problem{Code: cli.ExitError, What: err.Error(), Where: m.access.Where(""), Cause: err}
	}
	if ctx.Err() != nil {
		problem.Code, problem.What = cli.ExitDetached, fmt.Sprintf("interrupted at the step %q", title)
	}
	problem.Next = append(problem.Next, "run the command again: it continues where it stopped")
	return problem
}

// awaitJobs waits until nothing of the other system is at work.
func (m *migration) awaitJobs(ctx context.Context, report *Report) error {
	limited, cancel := context.WithTimeout(ctx, m.timeout)
	defer cancel()
	for {
		for _, j := range m.running {
			if slices.Contains(m.ignored, j.code) {
				continue
			}
			if err := m.awaitJob(limited, j); err != nil {
				return m.timedOut(ctx, err, fmt.Sprintf("%s %s", j.kind.Kind, j.key))
			}
		}
		now, err := m.examine(limited)
		if err != nil {
			return m.timedOut(ctx, err, "running jobs")
		}
		report.Findings = now.Findings
		if !slices.ContainsFunc(m.running, func(j job) bool { return !slices.Contains(m.ignored, j.code) }) {
			return nil
		}
	}
}

// awaitJob waits for one object: it has ended when it is at rest or gone.
func (m *migration) awaitJob(ctx context.Context, j job) error {
	told := false
	return every(ctx, func() (bool, error) {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(j.kind)
		err := m.client.Get(ctx, j.key, object)
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		item := &runnable{}
		if err := convert(object, item); err != nil {
			return false, err
		}
		code, message := pending(j.kind.Kind, item)
		if code == "" || code == codeDeletionFailed {
			return true, nil
		}
		if !told {
			m.access.Tell("      %s %s %s", j.kind.Kind, j.key, display.Clean(message))
			told = true
		}
		return false, nil
	})
}

// every asks until the answer is yes.
func every(ctx context.Context, done func() (bool, error)) error {
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// timedOut distinguishes our own timeout from a cancellation by the user.
func (m *migration) timedOut(ctx context.Context, err error, what string) error {
	if ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
		return m.access.Explain(err, "wait for "+what, "")
	}
	return m.needsSomebody(cli.ExitTimeout, fmt.Sprintf("timed out after %s waiting for %s", m.timeout, what), "wait longer with --timeout")
}

// note writes the record.
func (m *migration) note(ctx context.Context) ([]Step, error) {
	if err := m.remember(ctx); err != nil {
		return nil, err
	}
	return []Step{{fmt.Sprintf("ConfigMap %s/%s", m.home, m.system.recordName()), "written"}}, nil
}

// stop scales all Deployments to zero.
func (m *migration) stop(ctx context.Context) ([]Step, error) {
	var steps []Step
	for i := range m.theirs {
		step, err := m.scale(ctx, &m.theirs[i], func(int32) int32 { return 0 })
		if err != nil {
			return steps, err
		}
		steps = append(steps, step)
	}
	return steps, nil
}

// scale gives a Deployment another number of replicas, which depends on that of now.
func (m *migration) scale(ctx context.Context, deployment *appsv1.Deployment, wanted func(int32) int32) (Step, error) {
	step := Step{nameOf(deployment), nothingToDo}
	for range attempts {
		now := replicas(deployment)
		count := wanted(now)
		if count == now {
			return step, nil
		}
		before := deployment.DeepCopy()
		deployment.Spec.Replicas = &count
		err := m.client.Patch(ctx, deployment, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
		if err == nil {
			step.Done = fmt.Sprintf("scaled from %d to %d", now, count)
			return step, nil
		}
		if !apierrors.IsConflict(err) {
			return step, m.access.Explain(err, "scale "+step.Object, deployment.Namespace)
		}
		if err := m.client.Get(ctx, client.ObjectKeyFromObject(deployment), deployment); err != nil {
			return step, m.access.Explain(err, "read "+step.Object, deployment.Namespace)
		}
	}
	return step, fmt.Errorf("cannot scale %s: another client keeps changing it", step.Object)
}

// awaitPods waits until no pod of the Deployments runs.
func (m *migration) awaitPods(ctx context.Context, deployments []appsv1.Deployment) error {
	limited, cancel := context.WithTimeout(ctx, m.timeout)
	defer cancel()
	for _, deployment := range deployments {
		selector, err := metav1.LabelSelectorAsSelector(deployment.Spec.Selector)
		if err != nil {
			return fmt.Errorf("%s: %w", nameOf(&deployment), err)
		}
		err = every(limited, func() (bool, error) {
			var pods corev1.PodList
			err := m.client.List(limited, &pods, client.InNamespace(deployment.Namespace), client.MatchingLabelsSelector{Selector: selector})
			return !slices.ContainsFunc(pods.Items, isAlive), err
		})
		if err != nil {
			return m.timedOut(ctx, err, "the pods of "+nameOf(&deployment))
		}
	}
	return nil
}

func isAlive(pod corev1.Pod) bool {
	return pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// install puts our definitions in the place of those of the system, and adds those that are missing. Those of a system that is not taken
// over stay.
func (m *migration) install(ctx context.Context) ([]Step, error) {
	limited, cancel := context.WithTimeout(ctx, m.timeout)
	defer cancel()
	chosen := func(definition *apiextensionsv1.CustomResourceDefinition) bool {
		there := m.live[definition.Name]
		return m.system.installs(definition.Spec.Group) || there == nil || definitions.IsOurs(there)
	}
	changes, err := definitions.InstallSome(limited, m.config, chosen,
		definitions.Options{Owner: fieldOwner, Version: buildversion.Get().Version})
	var steps []Step
	for _, change := range changes {
		step := Step{"CustomResourceDefinition " + change.Name, nothingToDo}
		switch {
		case change.Created:
			step.Done = "created"
		case change.Changed:
			step.Done = "replaced"
		}
		steps = append(steps, step)
	}
	if err != nil {
		return steps, m.timedOut(ctx, err, "the CRDs")
	}
	return steps, nil
}

// finish marks the record as complete, unless somebody has started the other controllers again.
func (m *migration) finish(ctx context.Context) ([]Step, error) {
	if err := m.surveyDeployments(ctx); err != nil {
		return nil, err
	}
	for i := range m.theirs {
		if replicas(&m.theirs[i]) > 0 {
			return nil, m.needsSomebody(cli.ExitNeedsSomebody, nameOf(&m.theirs[i])+" was started again while the command ran",
				"suspend what manages it, such as Flux, Argo CD or an operator")
		}
	}
	if m.record.State.Finished {
		return nil, nil
	}
	m.record.State.Finished = true
	data, err := m.record.data()
	if err != nil {
		return nil, err
	}
	return nil, m.save(ctx, data)
}

// next says how to continue.
func (m *migration) next() []string {
	if m.back {
		return []string{"check that " + m.system.title + " runs: kubectl get deployments -A"}
	}
	way := []string{
		"check: " + m.access.Suggest("", "check", "-A"),
		"to go back: " + m.access.Suggest("", "migrate", m.system.name, "--back"),
	}
	switch {
	case runsAny(m.ours):
		return append([]string{"the controllers of Espalier are already running, and take over now"}, way...)
	case len(m.ours) > 0:
		return append([]string{"start the controllers of Espalier: " + m.scaleCommand(m.ours[0].Namespace, m.ours[0].Name, 1)}, way...)
	}
	install := fmt.Sprintf("helm install espalier espalier-VERSION.tgz --namespace %s --create-namespace --set crds.install=false", m.home)
	return append([]string{"install the controllers of Espalier (docs/install.md): " + install}, way...)
}
