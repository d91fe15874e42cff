// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package canary_test

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	gitops "espalier.dev/api/gitops/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/manager"
	"espalier.dev/internal/testkit"
)

// gossip rejects everything, except for lists if told so, and quotes everything that it received, with decoded credentials.
func gossip(lists bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if git := strings.Contains(r.URL.Path, "/info/refs") || strings.Contains(r.URL.Path, "git-upload-pack"); lists && !git &&
			r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "[]")
			return
		}
		body, _ := io.ReadAll(r.Body)
		user, password, _ := r.BasicAuth()
		w.Header().Set("WWW-Authenticate", fmt.Sprintf("Basic realm=%q", password))
		http.Error(w, fmt.Sprintf(`{"message": "%s and %s are not welcome here: %v %s"}`, user, password, r.Header, body), http.StatusForbidden)
	})
}

// running creates a namespace for an environment in which the application runs a revision, as helm-controller would report it.
func (w *world) running(revision string) string {
	w.Helper()
	namespace := w.GrantedNamespace(w.T, w.Namespace)
	app := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease"}}
	app.SetNamespace(namespace)
	app.SetName("app")
	if err := w.Client().Create(w.Context(), app); err != nil {
		w.Fatal(err)
	}
	app.Object["status"] = map[string]any{
		"history": []any{map[string]any{"chartVersion": revision, "status": "deployed", "version": int64(1)}}, "lastAttemptedRevision": revision,
		"observedGeneration": app.GetGeneration(),
		"conditions": []any{map[string]any{
			"type":               "Ready",
			"status":             "True",
			"reason":             "UpgradeSucceeded",
			"message":            "",
			"lastTransitionTime": metav1.Now().UTC().Format(time.RFC3339),
		}},
	}
	if err := w.Client().Status().Update(w.Context(), app); err != nil {
		w.Fatal(err)
	}
	return namespace
}

// credentials creates a Secret that consists only of canaries.
func (w *world) credentials(name string, canaries map[string]string, server *httptest.Server) {
	w.Helper()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name},
		StringData: map[string]string{"username": "me"},
	}
	for _, key := range []string{"password", "token", "hmac-key"} {
		secret.StringData[key] = canaryOf(len(canaries)) + canaryOf(len(canaries)+50)
		canaries[name+" "+key] = secret.StringData[key]
	}
	secret.StringData["caFile"] = string(authorityOf(server))
	w.Create(secret)
}

// authorityOf returns the certificate of a server.
func authorityOf(server *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

// call calls the server for approvals, and records its whole answer.
func (w *world) call(method, path, key string) {
	w.Helper()
	input := fmt.Sprintf(`("@method" "@path");created=%d;nonce="%s";tag="espalier"`, time.Now().Unix(), rand.Text())
	mac := hmac.New(sha256.New, []byte(key))
	fmt.Fprintf(mac, "\"@method\": %s\n\"@path\": %s\n\"@signature-params\": %s", method, path, input)
	request, err := http.NewRequestWithContext(w.Context(), method, "http://"+w.approvals+path, strings.NewReader("{}"))
	if err != nil {
		w.Fatal(err)
	}
	request.Header.Set("Signature-Input", "sig="+input)
	request.Header.Set("Signature", "sig=:"+base64.StdEncoding.EncodeToString(mac.Sum(nil))+":")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		w.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		w.Fatal(err)
	}
	fmt.Fprintln(w.answers, method, path, response.Status, response.Header, string(body))
}

// Git servers and receivers of events reject requests, and quote them. Nothing else may show their credentials.
func TestNoErrorShowsTheCredentialsOfAPipeline(t *testing.T) {
	events := httptest.NewServer(gossip(false))
	t.Cleanup(events.Close)
	w := newWorld(t, func(o *manager.Options) {
		o.Pipelines.ApprovalAddress, o.Pipelines.PollInterval = testkit.FreeAddress(t), time.Second
		o.Pipelines.EventsAddress = events.URL
	})
	canaries := map[string]string{}
	for name, c := range map[string]struct {
		kind  pipelines.GitProviderType
		path  string
		lists bool
	}{
		"gitea":      {pipelines.GitProviderGitea, "/acme/shop.git", false},
		"gitea-git":  {pipelines.GitProviderGitea, "/acme/shop.git", true},
		"github":     {pipelines.GitProviderGitHub, "/acme/shop.git", false},
		"github-git": {pipelines.GitProviderGitHub, "/acme/shop.git", true},
		"gitlab":     {pipelines.GitProviderGitLab, "/acme/shop.git", false},
		"gitlab-git": {pipelines.GitProviderGitLab, "/acme/shop.git", true},
		"bitbucket":  {pipelines.GitProviderBitbucketServer, "/scm/ACME/shop.git", false},
		"azure":      {pipelines.GitProviderAzureDevOps, "/acme/web/_git/shop", false},
		"told":       {},
	} {
		git := httptest.NewTLSServer(gossip(c.lists))
		t.Cleanup(git.Close)
		w.credentials(name, canaries, git)
		builder := testkit.Pipeline(w.Namespace, name).App("helm.toolkit.fluxcd.io/v2", "HelmRelease", "app").
			Environment("dev", w.running("1.1.0")).Environment("prod", w.running("1.0.0"))
		if c.kind == "" {
			builder = builder.Notification()
		} else {
			builder = builder.PullRequest(pipelines.PullRequestStrategy{
				Type: c.kind, URL: git.URL + c.path, BaseBranch: "main", SecretRef: pipelines.LocalObjectReference{Name: name},
			})
		}
		pipeline := builder.Build()
		pipeline.Spec.Promotion.Strategy.SecretRef = &pipelines.LocalObjectReference{Name: name}
		w.Create(pipeline)
		w.refused(name)
		key := canaries[name+" hmac-key"]
		for path, key := range map[string]string{"/prod/1.1.0": key, "/prod/9.9.9": key, "/nowhere/1.1.0": key, "/dev/1.1.0": "another-key"} {
			w.call(http.MethodPost, "/approval/"+w.Namespace+"/"+name+path, key)
		}
		w.call(http.MethodGet, "/approval/"+w.Namespace+"/"+name+"/prod/1.1.0", key)
		w.call(http.MethodPost, "/webhook/"+w.Namespace+"/"+name, key)
	}
	w.leaf(canaries)
	w.quiet()
	w.wantNone(canaries)
}

// leaf creates a pipeline to a cluster that quotes the token with which the pipeline logs in.
func (w *world) leaf(canaries map[string]string) {
	w.Helper()
	server := httptest.NewTLSServer(gossip(false))
	w.Cleanup(server.Close)
	canaries["leaf token"] = canaryOf(len(canaries))
	kubeconfig := w.kubeconfigWith(func(cluster, user map[string]any) {
		quotes(server, cluster)
		clear(user)
		user["token"] = canaries["leaf token"]
	})
	meta := metav1.ObjectMeta{Namespace: w.Namespace, Name: "leaf"}
	cluster := &gitops.GitopsCluster{ObjectMeta: meta, Spec: gitops.GitopsClusterSpec{SecretRef: &gitops.LocalObjectReference{Name: "leaf"}}}
	w.Create(&corev1.Secret{ObjectMeta: meta, StringData: map[string]string{"kubeconfig": kubeconfig}}, cluster)
	apimeta.SetStatusCondition(&cluster.Status.Conditions, metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Enrolled"})
	if err := w.Client().Status().Update(w.Context(), cluster); err != nil {
		w.Fatal(err)
	}
	w.Create(testkit.Pipeline(w.Namespace, "leaf").App("helm.toolkit.fluxcd.io/v2", "HelmRelease", "app").
		EnvironmentOn("leaf", "dev", w.Namespace).Environment("prod", w.running("1.0.0")).Notification().Build())
	w.refused("leaf")
}

// refused waits until a pipeline reports the answer.
func (w *world) refused(name string) {
	w.Helper()
	p := &pipelines.Pipeline{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}}
	testkit.Eventually(w.T, w.APIServer, p, testkit.Is("refused", func(p *pipelines.Pipeline) bool {
		said := strings.ToLower(asJSON(p.Status))
		return strings.Contains(said, "403") || strings.Contains(said, "refuse") || strings.Contains(said, "forbidden") ||
			strings.Contains(said, "denied") || strings.Contains(said, "not permit")
	}))
}
