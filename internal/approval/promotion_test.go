// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/gitprovider"
	"espalier.dev/internal/testkit"
)

// event returns the event that Flux sends about the application of a pipeline.
func event(pipeline *pipelines.Pipeline, namespace string) string {
	app := pipeline.Spec.AppRef
	return fmt.Sprintf(
		`{"involvedObject":{"apiVersion":%q,"kind":%q,"name":%q,"namespace":%q},"severity":"info","metadata":{"revision":"1.2.3"}}`,
		app.APIVersion,
		app.Kind,
		app.Name,
		namespace,
	)
}

func TestPIP27_AnEventMakesTheControllerLookAndNothingElse(t *testing.T) {
	w := newWorld(t)
	shop := w.pipeline("shop", manualNotification(nil))
	w.waits(shop, "staging", "1.2.3", 1)
	for i, path := range []string{"/promotion/" + w.Namespace + "/shop/dev", "/promotion/" + w.Namespace + "/shop/dev/what/follows"} {
		got := w.post(path, event(shop, "dev"))
		w.expect(got, http.StatusNoContent)
		if got.body != "" || w.woken() != i+1 || w.wakes[i] != (types.NamespacedName{Namespace: w.Namespace, Name: "shop"}) {
			t.Errorf("answer %+v, woken %v", got, w.wakes)
		}
	}
	if now := w.read(shop); now.ResourceVersion != shop.ResourceVersion {
		t.Errorf("it changed something: %+v", now.Status)
	}
}

func TestPIP27_EventsThatDoNotFit(t *testing.T) {
	w := newWorld(t)
	shop := w.pipeline("shop", manualNotification(nil))
	empty := testkit.Pipeline(w.Namespace, "empty").Environment("dev", "dev").Environment("prod", "prod").Build()
	empty.Spec.Environments[1].Targets = []pipelines.Target{}
	w.Create(empty)
	other := func(change func(*pipelines.AppReference)) string {
		changed := shop.DeepCopy()
		change(&changed.Spec.AppRef)
		return event(changed, "dev")
	}
	const mismatch = "involved object does not match Pipeline definition"
	tests := map[string]struct {
		path, body string
		code       int
		text       string
	}{
		"no body":     {"shop/dev", "", http.StatusBadRequest, ""},
		"no JSON":     {"shop/dev", "{", http.StatusBadRequest, ""},
		"a list":      {"shop/dev", "[]", http.StatusBadRequest, ""},
		"too large":   {"shop/dev", strings.Repeat("x", maxBody+1), http.StatusRequestEntityTooLarge, ""},
		"no revision": {"shop/dev", "{}", http.StatusUnprocessableEntity, "event has no 'revision' in the metadata field."},
		"last environment": {
			"shop/prod",
			event(shop, "prod"),
			http.StatusUnprocessableEntity,
			"cannot promote beyond last environment prod",
		},
		"unknown environment": {
			"shop/moon",
			event(shop, "dev"),
			http.StatusUnprocessableEntity,
			"app " + w.Namespace + "/shop has no environment moon defined",
		},
		"next without targets": {"empty/dev", event(empty, "dev"), http.StatusUnprocessableEntity, "environment prod has no targets"},
		"another apiVersion": {
			"shop/dev",
			other(func(a *pipelines.AppReference) { a.APIVersion = "v9" }),
			http.StatusUnprocessableEntity,
			mismatch,
		},
		"another kind": {
			"shop/dev",
			other(func(a *pipelines.AppReference) { a.Kind = "Kustomization" }),
			http.StatusUnprocessableEntity,
			mismatch,
		},
		"another name": {
			"shop/dev",
			other(func(a *pipelines.AppReference) { a.Name = "blog" }),
			http.StatusUnprocessableEntity,
			mismatch,
		},
		"a namespace of no use":  {"shop/dev", event(shop, "staging"), http.StatusUnprocessableEntity, mismatch},
		"unknown pipeline":       {"nowhere/dev", event(shop, "dev"), http.StatusUnauthorized, "signature missing or wrong"},
		"unknown, no body":       {"nowhere/dev", "", http.StatusUnauthorized, "signature missing or wrong"},
		"no environment at all":  {"shop", event(shop, "dev"), http.StatusNotFound, ""},
		"an empty environment":   {"shop/", event(shop, "dev"), http.StatusNotFound, ""},
		"a name that cannot be":  {"Sh!op/dev", event(shop, "dev"), http.StatusNotFound, ""},
		"a name with a slash":    {"sh%2Fop/dev", event(shop, "dev"), http.StatusNotFound, ""},
		"a name of dots":         {"%2e%2e/dev", event(shop, "dev"), http.StatusNotFound, ""},
		"an unreadable revision": {"shop/dev", `{"metadata":{"revision":5}}`, http.StatusBadRequest, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w.url = w.serve()
			got := w.post("/promotion/"+w.Namespace+"/"+test.path, test.body)
			w.expect(got, test.code)
			if test.text != "" && got.body != test.text+"\n" {
				t.Errorf("the answer says %q", got.body)
			}
		})
	}
	if w.woken() > 0 {
		t.Errorf("the controller was woken: %v", w.wakes)
	}
}

func TestPIP27_ACallMustProveThatItKnowsTheKey(t *testing.T) {
	w := newWorld(t)
	shop := w.pipeline("shop", manualNotification(signedBy("key")))
	own := testkit.Pipeline(w.Namespace, "own").
		Environment("dev", "dev").
		Environment("prod", "prod").
		Promotion(manualNotification(signedBy("key"))).
		Build()
	w.Create(own)
	for _, pipeline := range []*pipelines.Pipeline{shop, own} {
		path, body := "/promotion/"+w.Namespace+"/"+pipeline.Name+"/dev", event(pipeline, "dev")
		w.expect(w.post(path, body), http.StatusUnauthorized)
		w.expect(w.post(path, body, bodySigned("sha256", sha256.New, "wrong", body)), http.StatusUnauthorized)
		w.expect(w.post(path, body, "X-Signature: sha256="), http.StatusUnauthorized)
		if w.woken() > 0 {
			t.Fatalf("%s: woken by somebody without the key", pipeline.Name)
		}
		for name, algorithm := range bodyAlgorithms {
			w.expect(w.post(path, body, bodySigned(name, algorithm, canary, body)), http.StatusNoContent)
		}
		w.expect(w.post(path, body, sign(path).headers()...), http.StatusNoContent)
		if w.woken() != len(bodyAlgorithms)+1 {
			t.Errorf("%s: woken %d times", pipeline.Name, w.woken())
		}
		w.wakes = nil
	}
}

func TestDeliveriesOfGitServers(t *testing.T) {
	var looks []string
	w := newWorld(t, func(o *Options) {
		o.Delivered = func(name types.NamespacedName, event gitprovider.Event) {
			looks = append(looks, fmt.Sprintf("%s: %s#%d", name.Name, event.Repository, event.Number))
		}
	})
	w.pipeline("shop", manualPullRequest(signedBy("key")))
	w.pipeline("open", manualPullRequest(nil))
	const merged = `{"project":{"web_url":"https://git.example/team/shop"},"object_attributes":{"iid":7}}`
	const token, kind = "X-Gitlab-Token: " + hookSecret, "X-Gitlab-Event: Merge Request Hook"
	tests := map[string]struct {
		path, body string
		headers    []string
		code       int
	}{
		"no token":             {"gitlab/%s/shop/prod", merged, []string{kind}, http.StatusUnauthorized},
		"the key of approvals": {"gitlab/%s/shop/prod", merged, []string{kind, "X-Gitlab-Token: " + canary}, http.StatusUnauthorized},
		"another token":        {"gitlab/%s/shop/prod", merged, []string{kind, "X-Gitlab-Token: no"}, http.StatusUnauthorized},
		"another provider":     {"github/%s/shop/prod", merged, []string{kind, token}, http.StatusUnauthorized},
		"no key":               {"gitlab/%s/open/prod", merged, []string{kind, token}, http.StatusUnauthorized},
		"unknown pipeline":     {"gitlab/%s/nowhere/prod", merged, []string{kind, token}, http.StatusUnauthorized},
		"unknown provider":     {"forgery/%s/shop/prod", merged, []string{kind, token}, http.StatusUnauthorized},
		"too short":            {"gitlab/%s/shop", merged, []string{kind, token}, http.StatusNotFound},
		"too long":             {"gitlab/%s/shop/prod/more", merged, []string{kind, token}, http.StatusNotFound},
		"no JSON":              {"gitlab/%s/shop/prod", `kind`, []string{kind, token}, http.StatusBadRequest},
		"too large": {
			"gitlab/%s/shop/prod",
			strings.Repeat("x", maxHookBody+1),
			[]string{kind, token},
			http.StatusRequestEntityTooLarge,
		},
		"of no interest": {"gitlab/%s/shop/prod", merged, []string{token, "X-Gitlab-Event: Push Hook"}, http.StatusNoContent},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w.expect(w.post("/webhook/"+fmt.Sprintf(test.path, w.Namespace), test.body, test.headers...), test.code)
		})
	}
	if len(looks) > 0 {
		t.Fatalf("told of %v", looks)
	}
	w.expect(w.post("/webhook/gitlab/"+w.Namespace+"/shop/prod", merged, token, kind), http.StatusNoContent)
	if len(looks) != 1 || looks[0] != "shop: git.example/team/shop#7" {
		t.Errorf("told of %v", looks)
	}
}
