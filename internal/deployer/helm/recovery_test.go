// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/release/common"
	release "helm.sh/helm/v4/pkg/release/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"espalier.dev/internal/deployer/helm"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/faults"
)

// changeRecord rewrites the record of a revision to what an operation leaves that died halfway.
func (w *world) changeRecord(version int, change func(*release.Release)) {
	w.t.Helper()
	for _, r := range w.revisions("shop") {
		if r.Version == version {
			change(r)
			if err := w.releases().Update(r); err != nil {
				w.t.Fatal(err)
			}
		}
	}
}

func pending(status common.Status) func(*release.Release) {
	return func(r *release.Release) { r.Info.Status = status }
}

// The record was written by hand, in the format of Helm 3.
func TestAnAbandonedInstallationIsRecovered(t *testing.T) {
	w := newWorld(t)
	w.use(oneConfigMap)
	record := map[string]any{
		"name": "shop", "namespace": w.namespace, "version": 1, "manifest": "",
		"info":  map[string]any{"status": "pending-install", "first_deployed": "2024-01-02T03:04:05Z", "last_deployed": "2024-01-02T03:04:05Z"},
		"chart": map[string]any{"metadata": map[string]any{"name": "shop", "version": "0.0.1", "apiVersion": "v2"}},
	}
	text, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	var zipped bytes.Buffer
	writer := gzip.NewWriter(&zipped)
	_, _ = writer.Write(text)
	_ = writer.Close()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: "sh.helm.release.v1.shop.v1",
			Labels: map[string]string{"name": "shop", "owner": "helm", "status": "pending-install", "version": "1"},
		},
		Type: "helm.sh/release.v1",
		Data: map[string][]byte{"release": []byte(base64.StdEncoding.EncodeToString(zipped.Bytes()))},
	}
	if err := w.server.Client().Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	w.succeed("")
	if diff := cmp.Diff([]string{"one=default"}, w.content()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"1=failed", "2=deployed"}, w.history("shop")); diff != "" {
		t.Error(diff)
	}
}

// After any abandoned operation, the wanted revision gets deployed, and no objects of the abandoned one stay behind.
func TestAbandonedOperationsAreRecovered(t *testing.T) {
	for _, c := range []struct {
		status common.Status
		want   []string
	}{
		{common.StatusPendingUpgrade, []string{"1=superseded", "2=failed", "3=deployed"}},
		{common.StatusPendingRollback, []string{"1=superseded", "2=failed", "3=deployed"}},
		{common.StatusUnknown, []string{"1=superseded", "2=failed", "3=deployed"}},
	} {
		t.Run(c.status.String(), func(t *testing.T) {
			w := newWorld(t)
			w.use(oneConfigMap)
			w.succeed("values: {key: first}")
			w.use(threeConfigMaps)
			w.succeed("values: {key: second}")
			w.changeRecord(1, pending(common.StatusDeployed))
			w.changeRecord(2, pending(c.status))
			w.restart()
			w.use(oneConfigMap)
			w.succeed("values: {key: third}")
			if diff := cmp.Diff([]string{"one=third"}, w.content()); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.want, w.history("shop")); diff != "" {
				t.Error(diff)
			}
			w.delete()
			if diff := cmp.Diff([]string{}, w.content()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The objects of all revisions are deleted, including those of an unfinished one.
func TestDeletionInTheMiddleOfAnUpgrade(t *testing.T) {
	w := newWorld(t)
	w.use(twoConfigMaps)
	w.succeed("")
	w.use(oneConfigMap + "\n-- templates/four.yaml --\n{apiVersion: v1, kind: ConfigMap, metadata: {name: four}, data: {key: x}}\n")
	w.succeed("")
	// The upgrade has not yet deleted the objects that the new revision lacks.
	left := w.configMap("one").DeepCopy()
	left.ResourceVersion, left.UID, left.Name = "", "", "two"
	if err := w.server.Client().Create(t.Context(), left); err != nil {
		t.Fatal(err)
	}
	w.changeRecord(1, pending(common.StatusDeployed))
	w.changeRecord(2, pending(common.StatusPendingUpgrade))
	w.restart()
	w.delete()
	if diff := cmp.Diff([]string{}, w.content()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{}, w.history("shop")); diff != "" {
		t.Error(diff)
	}
}

// Somebody works with Helm's own command. Events of the record end the item's wait for that operation.
func TestAnOperationOfSomebodyElseIsAwaited(t *testing.T) {
	w := newWorld(t)
	w.use(oneConfigMap)
	w.succeed("values: {key: first}")
	w.changeRecord(1, func(r *release.Release) {
		r.Info.Status, r.Info.LastDeployed = common.StatusPendingUpgrade, time.Now()
		r.Labels = map[string]string{}
	})
	w.configure("values: {key: second}")
	if err := w.start(); err != nil {
		t.Fatal(err)
	}
	progress, err := w.pass()
	if err != nil || progress.Waiting.Code != helm.WaitingForHelm ||
		!strings.Contains(progress.Waiting.Message, "revision 1 is pending-upgrade") {
		t.Fatalf("%+v, %v", progress, err)
	}
	if _, err := w.goOnAfter(func() { w.changeRecord(1, pending(common.StatusDeployed)) }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"one=second"}, w.content()); diff != "" {
		t.Error(diff)
	}
}

// After a failed installation, the next attempt is an installation again, with its hooks.
func TestAFailedInstallationIsRepeatedAsOne(t *testing.T) {
	w := newWorld(t)
	const chart = `
-- templates/hook.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: hook, annotations: {helm.sh/hook: pre-install}}, data: {key: hook}}
-- templates/one.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {key: "{{ .Release.IsInstall }}"}}
-- templates/two.yaml --
{apiVersion: v1, kind: Service, metadata: {name: two}, spec: {ports: [{port: PORT}]}}
`
	w.use(strings.ReplaceAll(chart, "PORT", "700000"))
	_, err := w.deploy("")
	assertFailure(t, err, failed{reason: "installRelease", terminal: true, codes: []string{"ERR_CONFIGURATION_PROBLEM"}, contains: []string{"spec.ports[0].port"}})
	if diff := cmp.Diff([]string{"1=failed"}, w.history("shop")); diff != "" {
		t.Fatal(diff)
	}
	if err := w.server.Client().Delete(t.Context(), w.configMap("hook")); err != nil {
		t.Fatal(err)
	}
	w.use(strings.ReplaceAll(chart, "PORT", "7000"))
	w.succeed("")
	if diff := cmp.Diff([]string{"hook=hook", "one=true"}, w.content()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"1=failed", "2=deployed"}, w.history("shop")); diff != "" {
		t.Error(diff)
	}
}

func TestAReleaseThatSomebodyHasUninstalledIsInstalledAgain(t *testing.T) {
	for _, status := range []common.Status{common.StatusUninstalled, common.StatusUninstalling} {
		t.Run(status.String(), func(t *testing.T) {
			w := newWorld(t)
			w.use(oneConfigMap)
			w.succeed("")
			w.changeRecord(1, pending(status))
			w.restart()
			w.succeed("")
			if diff := cmp.Diff([]string{"one=default"}, w.content()); diff != "" {
				t.Error(diff)
			}
			w.delete()
			if diff := cmp.Diff([]string{}, w.content()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// insist continues after errors, each time in a new process with a working connection, until the item is done.
func (w *world) insist() {
	w.t.Helper()
	for range 5 {
		_, err := w.goOn()
		if err == nil {
			return
		}
		if failure.KindOf(err) == failure.Terminal {
			w.t.Fatal(err)
		}
		w.transport = faults.New(faults.Plan{})
		w.connect()
		w.restart()
	}
	w.t.Fatal("it does not come to an end")
}

// live walks an item through its life: installed, upgraded with one object removed and one added, changed to a template and
// deleted.
func live(t *testing.T, plan faults.Plan) faults.Log {
	w := newWorldOn(t, testkit.Server(t), plan.String())
	log := w.transport
	for i, job := range []struct {
		chart, config string
		want          []string
	}{
		{oneConfigMap, "values: {key: a}", []string{"one=a"}},
		{strings.ReplaceAll(twoConfigMaps, "name: one", "name: four"), "values: {key: b}", []string{"four=b", "two=second"}},
		{twoConfigMaps, "{helmDeployment: false, values: {key: c}}", []string{"one=c", "two=second"}},
		{oneConfigMap, "{helmDeployment: true, values: {key: d}}", []string{"one=d"}},
	} {
		w.use(job.chart)
		w.configure(job.config)
		for w.start() != nil {
			w.transport = faults.New(faults.Plan{})
			w.connect()
		}
		w.insist()
		if diff := cmp.Diff(job.want, w.content()); diff != "" {
			t.Errorf("job %d: %s", i, diff)
		}
	}
	w.beginDelete()
	w.insist()
	if diff := cmp.Diff([]string{}, w.content()); diff != "" {
		t.Errorf("left behind: %s", diff)
	}
	if diff := cmp.Diff([]string{}, w.history("shop")); diff != "" {
		t.Errorf("records left behind: %s", diff)
	}
	return log.Log()
}

func TestNoFaultAtAnyWriteLosesAnObject(t *testing.T) {
	reference := live(t, faults.Plan{})
	actions := []faults.Action{faults.CrashPoints[0], faults.AnswerInternalError}
	faults.Sweep(t, faults.EachNamedWrite(reference, actions...), func(t *testing.T, plan faults.Plan) { live(t, plan) })
}
