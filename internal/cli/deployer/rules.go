// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployer

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// rule is a part of the contract of deployers.
type rule struct {
	name string
	// promise is what a deployer does that keeps it.
	promise string
	// lacks says what the user must set so that it can be checked; empty if nothing is missing.
	lacks func(*suite) string
	// try returns a violation if the deployer breaks it.
	try func(context.Context, *suite) error
}

// rules are the contract, in the order in which it is tried: what comes later builds on what comes first.
func rules() []rule {
	return []rule{
		{"pick-up", "the pick-up is stored before the work, and the end is one write", nothing, pickUp},
		{"idle", "items without a job, and those of other types, are ignored", nothing, idle},
		{"again", "runs each job once, and does nothing between jobs", nothing, again},
		{"unchanged", "an item with updateOnChangeOnly that has not changed is not deployed again", nothing, unchanged},
		{"failure", "a job that fails ends as Failed, with an error", needsBroken, failure},
		{"interrupt", "an interrupted item stays as it is, and the next job starts", needsStuck, interrupt},
		{"timeout", "an item that timed out stays Failed", needsStuck, timeout},
		{"exports", "exports are in a Secret that is deleted with the item", needsExports, exports},
		{"deletion", "a deletion is a job; the finalizer is removed when all objects are gone", nothing, deletion},
		{"delete-without-uninstall", "items deleted without uninstalling are ignored", nothing, deleteWithoutUninstall},
		{"continuous", "an item of the continuous flow follows its spec without a job", nothing, continuous},
	}
}

func ruleNames() []string {
	var names []string
	for _, r := range rules() {
		names = append(names, r.name)
	}
	return names
}

func rulesHelp() string {
	var text strings.Builder
	for _, r := range rules() {
		fmt.Fprintf(&text, "  %-26s%s\n", r.name, r.promise)
	}
	return text.String()
}

func nothing(*suite) string { return "" }

func needsBroken(s *suite) string {
	if s.broken == nil {
		return "needs --broken, a configuration with which a job fails"
	}
	return ""
}

func needsStuck(s *suite) string {
	if s.stuck == nil {
		return "needs --stuck, a configuration with which a job does not finish"
	}
	return ""
}

func needsExports(s *suite) string {
	if len(s.exports) == 0 {
		return "needs --export, a key that an item with --config exports"
	}
	return ""
}

func pickUp(ctx context.Context, s *suite) error {
	item, err := s.deployed(ctx)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(item.versions, item.isPickUp)
	if at < 0 {
		return violatedf("the job ended without a pick-up: no status write before the end has phase Progressing")
	}
	if err := checkPickUp(item.versions[at]); err != nil {
		return err
	}
	for _, v := range item.versions[at:] {
		switch final := v.Status.Phase.IsFinal(); {
		case final && !v.Status.IsFinished():
			return violatedf("phase %s was written before status.jobIDFinished: write both at once", v.Status.Phase)
		case !final && v.Status.IsFinished():
			return violatedf("status.jobIDFinished was written in phase %q: write it with the final phase", v.Status.Phase)
		}
	}
	return checkMemory(item.last())
}

func checkPickUp(v *lsv1alpha1.DeployItem) error {
	switch {
	case v.Status.LastReconcileTime == nil:
		return violatedf("the pick-up has no status.lastReconcileTime")
	case v.Status.Deployer.Name == "":
		return violatedf("the pick-up has no status.deployer.name")
	case v.Status.ObservedGeneration != v.Generation:
		return violatedf("the pick-up has status.observedGeneration %d, and the item is at generation %d", v.Status.ObservedGeneration, v.Generation)
	case !slices.Contains(v.Finalizers, lsv1alpha1.Finalizer):
		return violatedf("the item has no finalizer %s when it is picked up", lsv1alpha1.Finalizer)
	}
	return nil
}

// checkMemory looks at what the deployer remembers, if it does.
func checkMemory(v *lsv1alpha1.DeployItem) error {
	if v.Status.ProviderStatus == nil {
		return nil
	}
	var named struct{ APIVersion, Kind string }
	if json.Unmarshal(v.Status.ProviderStatus.Raw, &named) != nil || named.APIVersion == "" || named.Kind == "" {
		return violatedf("status.providerStatus has no apiVersion or no kind")
	}
	return nil
}

func idle(ctx context.Context, s *suite) error {
	jobless, err := s.create(ctx, s.config)
	if err != nil {
		return err
	}
	foreign, err := s.create(ctx, s.config, func(i *lsv1alpha1.DeployItem) { i.Spec.Type = "espalier.dev/nobody" })
	if err != nil {
		return err
	}
	if err := foreign.begin(ctx); err != nil {
		return err
	}
	if err := s.tempt(ctx, jobless, foreign); err != nil {
		return err
	}
	for why, item := range map[string]*subject{"has no job": jobless, "is of another type": foreign} {
		if item.last().Status.LastReconcileTime != nil || item.last().Status.Deployer.Name != "" {
			return violatedf("an item that %s was picked up by deployer %q", why, item.last().Status.Deployer.Name)
		}
	}
	// Nobody is responsible for it, so it must be released by hand.
	return foreign.patchObject(ctx, map[string]any{"metadata": map[string]any{"finalizers": nil}})
}

func again(ctx context.Context, s *suite) error {
	item, err := s.deployed(ctx)
	if err != nil {
		return err
	}
	later := item.since()
	if err := s.tempt(ctx, item); err != nil {
		return err
	}
	for _, v := range later() {
		if v.Status.Phase != lsv1alpha1.PhaseSucceeded || !v.Status.IsFinished() {
			return violatedf("the item was worked on although its job had ended; %s", describe(v))
		}
	}
	if err := item.succeeds(ctx); err != nil {
		return err
	}
	if !slices.ContainsFunc(later(), item.isPickUp) {
		return violatedf("the second job ended without a pick-up")
	}
	return nil
}

func unchanged(ctx context.Context, s *suite) error {
	item, err := s.deployed(ctx, func(i *lsv1alpha1.DeployItem) { i.Spec.UpdateOnChangeOnly = true })
	if err != nil {
		return err
	}
	later := item.since()
	if err := item.succeeds(ctx); err != nil {
		return err
	}
	if slices.ContainsFunc(later(), item.isPickUp) {
		return violatedf("the item was picked up again although its spec had not changed")
	}
	if err := item.patchObject(ctx, changedTimeout); err != nil {
		return err
	}
	later = item.since()
	if err := item.succeeds(ctx); err != nil {
		return err
	}
	if !slices.ContainsFunc(later(), item.isPickUp) {
		return violatedf("the item was not picked up although its spec had changed")
	}
	return nil
}

// changedTimeout changes the spec of an item, and nothing that is deployed.
var changedTimeout = map[string]any{"spec": map[string]any{"timeout": "11m"}}

func failure(ctx context.Context, s *suite) error {
	item, err := s.create(ctx, s.broken)
	if err != nil {
		return err
	}
	if err := item.ends(ctx, lsv1alpha1.PhaseFailed); err != nil {
		return err
	}
	if e := item.last().Status.LastError; e == nil || e.Message == "" {
		return violatedf("the job failed, and status.lastError does not say why")
	}
	return nil
}

func interrupt(ctx context.Context, s *suite) error {
	item, err := s.create(ctx, s.stuck)
	if err != nil {
		return err
	}
	if err := item.stuck(ctx); err != nil {
		return err
	}
	if err := item.interrupt(ctx); err != nil {
		return err
	}
	if err := item.checkInterrupted(); err != nil {
		return err
	}
	if err := staysFailed(ctx, s, item); err != nil {
		return err
	}
	return item.stuck(ctx)
}

// staysFailed gives the deployer the chance to overwrite a result that somebody else has set.
func staysFailed(ctx context.Context, s *suite, item *subject) error {
	later := item.since()
	if err := s.tempt(ctx, item); err != nil {
		return err
	}
	for _, v := range later() {
		if v.Status.Phase != lsv1alpha1.PhaseFailed || !v.Status.IsFinished() {
			return violatedf("the deployer overwrote the result of a finished job; %s", describe(v))
		}
	}
	return nil
}

// shortTime is the limit of an item whose time is up soon.
const shortTime lsv1alpha1.Duration = "3s"

func timeout(ctx context.Context, s *suite) error {
	item, err := s.create(ctx, s.stuck, func(i *lsv1alpha1.DeployItem) { i.Spec.Timeout = new(shortTime) })
	if err != nil {
		return err
	}
	if err := item.ends(ctx, lsv1alpha1.PhaseFailed); err != nil {
		return because(err, "the controller deployitems enforces timeouts: check that it runs")
	}
	if e := item.last().Status.LastError; e == nil || !slices.Contains(e.Codes, lsv1alpha1.ErrorTimeout) {
		return violatedf("the item timed out, but status.lastError does not have the code %s", lsv1alpha1.ErrorTimeout)
	}
	return staysFailed(ctx, s, item)
}

func exports(ctx context.Context, s *suite) error {
	item, err := s.deployed(ctx)
	if err != nil {
		return err
	}
	secret, err := exported(ctx, s, item)
	if err != nil {
		return err
	}
	if err := item.remove(ctx); err != nil {
		return err
	}
	err = wait.PollUntilContextTimeout(ctx, time.Second/4, s.timeout, true, func(ctx context.Context) (bool, error) {
		err := s.Client.Get(ctx, client.ObjectKeyFromObject(secret), &corev1.Secret{})
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return violatedf("the deploy item is gone, but Secret %s still exists", secret.Name)
	}
	return err
}

// exported reads the Secret with the exports of an item, and checks its content. It shows no value.
func exported(ctx context.Context, s *suite, item *subject) (*corev1.Secret, error) {
	reference := item.last().Status.ExportReference
	if reference == nil {
		return nil, violatedf("status.exportRef is not set")
	}
	if reference.Name != item.name+"-export" || reference.Namespace != s.Namespace {
		return nil, violatedf("status.exportRef names %s/%s, not %s/%s-export", reference.Namespace, reference.Name, s.Namespace, item.name)
	}
	secret := &corev1.Secret{}
	err := s.Client.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: reference.Name}, secret)
	if apierrors.IsNotFound(err) {
		return nil, violatedf("status.exportRef names Secret %s, which does not exist", reference.Name)
	}
	if err != nil {
		return nil, fmt.Errorf("read the exports of deploy item %s: %w", item.name, err)
	}
	var values map[string]json.RawMessage
	if json.Unmarshal(secret.Data[lsv1alpha1.ExportSecretKey], &values) != nil {
		return nil, violatedf("key %s of Secret %s is not a JSON object", lsv1alpha1.ExportSecretKey, secret.Name)
	}
	for _, key := range s.exports {
		if values[key] == nil {
			return nil, violatedf("the exports have no key %q", key)
		}
	}
	if len(secret.OwnerReferences) != 1 || secret.OwnerReferences[0].UID != item.last().UID {
		return nil, violatedf("Secret %s has no owner reference to the deploy item", secret.Name)
	}
	return secret, nil
}

func deletion(ctx context.Context, s *suite) error {
	item, err := s.deployed(ctx)
	if err != nil {
		return err
	}
	if err := item.delete(ctx); err != nil {
		return err
	}
	later := item.since()
	if err := s.tempt(ctx, item); err != nil {
		return err
	}
	if item.gone || slices.ContainsFunc(later(), func(v *lsv1alpha1.DeployItem) bool { return v.Status.Phase == lsv1alpha1.PhaseDeleting }) {
		return violatedf("the item was deleted before it got a job for the deletion")
	}
	if err := item.begin(ctx); err != nil {
		return err
	}
	if err := item.untilGone(ctx); err != nil {
		return err
	}
	if !slices.ContainsFunc(later(), func(v *lsv1alpha1.DeployItem) bool { return v.Status.Phase == lsv1alpha1.PhaseDeleting }) {
		return violatedf("the item was deleted without a pick-up: no status write has phase Deleting")
	}
	return nil
}

func deleteWithoutUninstall(ctx context.Context, s *suite) error {
	item, err := s.deployed(ctx)
	if err != nil {
		return err
	}
	later := item.since()
	annotations := map[string]any{lsv1alpha1.DeleteWithoutUninstallAnnotation: "true"}
	if err := item.patchObject(ctx, map[string]any{"metadata": map[string]any{"annotations": annotations}}); err != nil {
		return err
	}
	if err := item.delete(ctx); err != nil {
		return err
	}
	if err := s.tempt(ctx, item); err != nil {
		return err
	}
	if slices.ContainsFunc(later(), func(v *lsv1alpha1.DeployItem) bool { return v.Status.Phase == lsv1alpha1.PhaseDeleting }) {
		return violatedf("the item was uninstalled although it has the annotation %s", lsv1alpha1.DeleteWithoutUninstallAnnotation)
	}
	return nil
}

func continuous(ctx context.Context, s *suite) error {
	item, err := s.create(ctx, s.config, func(i *lsv1alpha1.DeployItem) { i.Spec.Flow = lsv1alpha1.FlowContinuous })
	if err != nil {
		return err
	}
	if err := item.until(ctx, "the end of the first run without a job", upToDate); err != nil {
		return err
	}
	if err := item.patchObject(ctx, changedTimeout); err != nil {
		return err
	}
	if err := item.until(ctx, "the end of a run after a change of the spec", upToDate); err != nil {
		return err
	}
	asked := map[string]any{lsv1alpha1.OperationAnnotation: string(lsv1alpha1.OperationReconcile)}
	if err := item.patchObject(ctx, map[string]any{"metadata": map[string]any{"annotations": asked}}); err != nil {
		return err
	}
	later := item.since()
	if err := item.until(ctx, "the end of a run requested with "+lsv1alpha1.OperationAnnotation, func(v *lsv1alpha1.DeployItem) bool {
		return upToDate(v) && v.Annotations[lsv1alpha1.OperationAnnotation] == ""
	}); err != nil {
		return err
	}
	if !slices.ContainsFunc(later(), func(v *lsv1alpha1.DeployItem) bool { return v.Status.Phase == lsv1alpha1.PhaseProgressing }) {
		return violatedf("the annotation %s was removed, and nothing was done", lsv1alpha1.OperationAnnotation)
	}
	if err := item.delete(ctx); err != nil {
		return err
	}
	return item.untilGone(ctx)
}

// upToDate reports whether the last run of the continuous flow has succeeded with the present spec.
func upToDate(v *lsv1alpha1.DeployItem) bool {
	return v.Status.Phase == lsv1alpha1.PhaseSucceeded && v.Status.ObservedGeneration == v.Generation
}
