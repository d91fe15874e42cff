// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	landscaper "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/faults"
)

// insist continues after errors, each time in a new process with a working connection, until the item is done.
func (w *world) insist() {
	w.Helper()
	for range 5 {
		_, err := w.goOn()
		if err == nil {
			return
		}
		if failure.KindOf(err) == failure.Terminal {
			w.Fatal(err)
		}
		w.transport = faults.New(faults.Plan{})
		w.connect()
		w.restart()
	}
	w.Fatal("it does not come to an end")
}

// live walks an item through its life: created, changed with one object removed and one added, deleted.
func live(t *testing.T, plan faults.Plan) faults.Log {
	w := newWorldOn(t, testkit.Server(t), plan.String())
	log := w.transport
	jobs := []struct {
		text string
		want []string
	}{
		{these(one1, two2), []string{"one=value", "two=value"}},
		{these(replace(two2, "key: value", "key: other"), replace(one1, "name: one", "name: three")), []string{"three=value", "two=other"}},
	}
	for _, job := range jobs {
		w.configure(job.text)
		if err := w.start(); err != nil {
			t.Fatal(err)
		}
		w.insist()
		if got := w.content(); !slices.Equal(got, job.want) {
			t.Errorf("there are %v, want %v", got, job.want)
		}
		if got := w.managed(); len(got) != len(job.want) {
			t.Errorf("the inventory is %v", got)
		}
	}
	w.beginDelete()
	w.insist()
	if got := w.content(); len(got) > 0 {
		t.Errorf("left behind: %v", got)
	}
	return log.Log()
}

// content lists the ConfigMaps in the world's namespace as name=value.
func (w *world) content() []string {
	w.Helper()
	var list corev1.ConfigMapList
	if err := w.Client().List(w.Context(), &list, client.InNamespace(w.Namespace)); err != nil {
		w.Fatal(err)
	}
	var result []string
	for _, object := range list.Items {
		result = append(result, object.Name+"="+object.Data["key"])
	}
	slices.Sort(result)
	return result
}

func TestNoFaultAtAnyWriteLosesAnObject(t *testing.T) {
	reference := live(t, faults.Plan{})
	if writes := len(reference.Writes()); writes != 7 {
		t.Fatalf("the reference has %d writes, want 3 creations, an update and 3 deletions:\n%s", writes, reference.Writes())
	}
	actions := append(slices.Clone(faults.CrashPoints), faults.AnswerConflict, faults.AnswerInternalError)
	faults.Sweep(t, faults.EachNamedWrite(reference, actions...), func(t *testing.T, plan faults.Plan) { live(t, plan) })
}

// Missing rights may be granted later, so the item keeps retrying, and says what it lacks.
func TestMissingRights(t *testing.T) {
	w := newWorld(t)
	w.targets[ownTarget] = testkit.Target(w.Namespace, ownTarget).Kubeconfig(kubeconfig(w.Config(), w.token())).Build()
	_, err := w.deploy(oneConfigMap)
	if err == nil || failure.KindOf(err) != failure.Retryable {
		t.Fatalf("the error is %v", err)
	}
	details := failure.DetailsOf(err)
	if !slices.Contains(details.Codes, string(landscaper.ErrorUnauthorized)) ||
		!strings.Contains(err.Error(), "ConfigMap "+w.Namespace+"/one") {
		t.Errorf("%+v: %v", details, err)
	}
}

// token creates a service account without rights.
func (w *world) token() string {
	w.Helper()
	w.create("{apiVersion: v1, kind: ServiceAccount, metadata: {name: nobody, namespace: NAMESPACE}}")
	request := &authenticationv1.TokenRequest{}
	account := &corev1.ServiceAccount{}
	account.Namespace, account.Name = w.Namespace, "nobody"
	if err := w.Client().SubResource("token").Create(w.Context(), account, request); err != nil {
		w.Fatal(err)
	}
	return request.Status.Token
}

func kubeconfig(config *rest.Config, token string) string {
	return fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: it, contexts: [{name: it, context: {cluster: it, user: it}}],
clusters: [{name: it, cluster: {server: %q, certificate-authority-data: %q}}], users: [{name: it, user: {token: %q}}]}`,
		config.Host, base64.StdEncoding.EncodeToString(config.CAData), token)
}
