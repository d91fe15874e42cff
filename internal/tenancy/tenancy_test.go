// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
)

var shop = Account{Namespace: "shop", Name: "installer"}

func working(ctx context.Context) context.Context {
	return (&Tenant{strict: &Strict{}, account: shop}).In(ctx)
}

// sent returns the user that an outgoing request impersonates.
func sent(t *testing.T, ctx context.Context, method, path string) (string, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, method, "https://example.com"+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Impersonate-Group", "system:masters")
	user := ""
	_, err = (&Strict{}).Transport(roundTrip(func(r *http.Request) {
		user = r.Header.Get("Impersonate-User")
		if user != "" && len(r.Header.Values("Impersonate-Group")) > 0 {
			t.Errorf("%s %s: somebody has added a group", method, path)
		}
	})).RoundTrip(request)
	return user, err
}

type roundTrip func(*http.Request)

func (f roundTrip) RoundTrip(request *http.Request) (*http.Response, error) {
	f(request)
	return nil, nil
}

func TestWhatIsDoneAsTheTenant(t *testing.T) {
	const ours = "/apis/landscaper.gardener.cloud/v1alpha1/namespaces/shop/"
	for _, test := range []struct {
		method, path string
		tenant       bool
	}{
		{http.MethodPost, ours + "executions", true},
		{http.MethodPut, ours + "dataobjects/a", true},
		{http.MethodPatch, ours + "installations/a", true},
		{http.MethodPatch, "/base/of/a/proxy" + ours + "installations/a", true},
		{http.MethodPatch, ours + "installations/a/status", false},
		{http.MethodGet, ours + "targets/a", false},
		{http.MethodGet, ours + "targets", false},
		{http.MethodDelete, ours + "executions/a", false},
		{http.MethodDelete, ours + "dataobjects", false},
		{http.MethodPatch, "/apis/pipelines.weave.works/v1alpha1/namespaces/shop/pipelines/p/status", false},
		{http.MethodGet, "/api/v1/namespaces/shop/secrets/a", true},
		{http.MethodGet, "/api/v1/namespaces/shop/secrets", true},
		{http.MethodDelete, "/api/v1/namespaces/shop/secrets/a", true},
		{http.MethodGet, "/api/v1/namespaces/elsewhere/configmaps/a", true},
		{http.MethodPost, "/api/v1/namespaces/shop/pods", true},
		{http.MethodPost, "/api/v1/namespaces/shop/serviceaccounts/a/token", true},
		{http.MethodPost, "/api/v1/namespaces/shop/services/a/proxy/some/where", true},
		{http.MethodPatch, "/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/shop/kustomizations/a", true},
		{http.MethodPost, "/api/v1/namespaces/shop/events", false},
		{http.MethodPost, "/apis/events.k8s.io/v1/namespaces/shop/events", false},
		{http.MethodPut, "/apis/coordination.k8s.io/v1/namespaces/shop/leases/a", false},
		{http.MethodPost, "/apis/authorization.k8s.io/v1/subjectaccessreviews", false},
		{http.MethodGet, "/api/v1/namespaces/shop", false},
		{http.MethodGet, "/api/v1/secrets", false},
		{http.MethodGet, "/apis/landscaper.gardener.cloud/v1alpha1", false},
		{http.MethodGet, "/version", false},
	} {
		want := ""
		if test.tenant {
			want = "system:serviceaccount:shop:installer"
		}
		if got, err := sent(t, working(t.Context()), test.method, test.path); err != nil || got != want {
			t.Errorf("%s %s impersonates %q: %v", test.method, test.path, got, err)
		}
		for name, ctx := range map[string]context.Context{
			"in shared tenancy": t.Context(), "aside": Own(working(t.Context())), "aside of aside": Own(Own(working(t.Context()))),
		} {
			if got, err := sent(t, ctx, test.method, test.path); err != nil || got != "" {
				t.Errorf("%s, %s %s impersonates %q: %v", name, test.method, test.path, got, err)
			}
		}
	}
}

// Work for an unknown tenant is not done with the rights of the controllers.
func TestWithoutAnAccountNothingIsSent(t *testing.T) {
	problem := errors.New("no account")
	ctx := (&Tenant{strict: &Strict{}, problem: problem}).In(t.Context())
	if user, err := sent(t, ctx, http.MethodGet, "/api/v1/namespaces/shop/secrets/a"); !errors.Is(err, problem) || user != "" {
		t.Errorf("it was sent as %q: %v", user, err)
	}
	key := client.ObjectKey{Namespace: "shop", Name: "a"}
	if err := From(ctx).MayGet(ctx, schema.GroupResource{Resource: "secrets"}, key); !errors.Is(err, problem) {
		t.Errorf("it may be read: %v", err)
	}
	wrapped := fmt.Errorf("read: %w", &url.Error{Op: "Get", URL: "https://10.0.0.1/api", Err: problem})
	if got := Explain(ctx, wrapped); got.Error() != "no account" {
		t.Errorf("it says %v", got)
	}
}

// In Targets, the tenant acts as itself, even when the controllers clean up after it.
func TestATenantIsItself(t *testing.T) {
	ctx := Own(working(t.Context()))
	itself := From(ctx).Itself()
	user, err := sent(t, itself.In(ctx), http.MethodPost, "/api/v1/namespaces/shop/serviceaccounts/a/token")
	if err != nil || user != shop.User() {
		t.Errorf("it was sent as %q: %v", user, err)
	}
	if account, err := itself.Account(); err != nil || account != shop {
		t.Errorf("%v, %v", account, err)
	}
	if nobody := From(t.Context()).Itself(); nobody != nil {
		t.Errorf("there is a tenant %v in shared tenancy", nobody)
	}
}

func TestExplain(t *testing.T) {
	denied := func(user, verb, resource, group, where string) error {
		text := fmt.Sprintf("User %q cannot %s resource %q in API group %q%s", user, verb, resource, group, where)
		on := schema.GroupResource{Group: group, Resource: resource}
		return fmt.Errorf("create app: %w", apierrors.NewForbidden(on, "app", errors.New(text)))
	}
	const here, everywhere = ` in the namespace "shop"`, " at the cluster scope"
	for name, test := range map[string]struct {
		err  error
		want []string // empty if the error is returned unchanged
	}{
		"a kind of ours": {
			denied(shop.User(), "create", "executions", lsv1alpha1.GroupName, here),
			[]string{
				"create app: the service account shop/installer may not create executions.landscaper.gardener.cloud in namespace shop",
				"kubectl create rolebinding espalier-tenant --clusterrole=espalier-tenant --serviceaccount=shop:installer --namespace=shop",
			},
		},
		"a Pod": {
			denied(shop.User(), "create", "pods", "", here),
			[]string{"may not create pods in namespace shop", "--clusterrole=espalier-tenant-containers"},
		},
		"what no role of ours has": {
			denied(shop.User(), "patch", "deployments", "apps", here),
			[]string{"may not patch deployments.apps in namespace shop", "bind a Role of namespace shop with the verb patch on deployments.apps"},
		},
		"a kind of ours elsewhere": {
			denied(shop.User(), "patch", "installations", lsv1alpha1.GroupName, ` in the namespace "prod"`),
			[]string{"bind a Role of namespace prod with the verb patch on installations.landscaper.gardener.cloud to the service account"},
		},
		"the whole cluster": {
			denied(shop.User(), "create", "clusterroles", "rbac.authorization.k8s.io", everywhere),
			[]string{"may not create clusterroles.rbac.authorization.k8s.io at the cluster scope", "ClusterRoleBinding"},
		},
		"a controller that may not impersonate": {
			denied("system:serviceaccount:espalier-system:espalier-controller", "impersonate", "serviceaccounts", "", here),
			[]string{"bind the ClusterRole espalier-tenancy to their service account"},
		},
		"another user":    {denied("jane", "create", "executions", lsv1alpha1.GroupName, here), nil},
		"another refusal": {apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "a", errors.New("exceeded quota")), nil},
		"another error":   {errors.New("no"), nil},
		"no error":        {nil, nil},
		"a terminal error": {
			failure.NewTerminal(failure.Details{}, denied(shop.User(), "create", "executions", lsv1alpha1.GroupName, here)), nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := Explain(working(t.Context()), test.err)
			if len(test.want) == 0 {
				if got != test.err {
					t.Errorf("it became %v", got)
				}
				return
			}
			for _, want := range test.want {
				if !strings.Contains(got.Error(), want) {
					t.Errorf("it does not say %q: %v", want, got)
				}
			}
			if failure.KindOf(got) != failure.Retryable || failure.DetailsOf(got).Reason != ReasonRightMissing {
				t.Errorf("it is %v, %+v", failure.KindOf(got), failure.DetailsOf(got))
			}
			if shared := Explain(t.Context(), test.err); shared != test.err {
				t.Errorf("in shared tenancy it became %v", shared)
			}
		})
	}
}

// Answers expire, and their number is limited.
func TestReviewsAreForgotten(t *testing.T) {
	var r reviews
	now := time.Now()
	ask := func(name string) question { return question{account: shop, name: name} }
	r.remember(ask("a"), answer{allowed: true, until: now.Add(remembered)})
	if allowed, known := r.recall(ask("a"), now); !allowed || !known {
		t.Error("an answer is not remembered")
	}
	if _, known := r.recall(ask("a"), now.Add(remembered)); known {
		t.Error("an answer is remembered for too long")
	}
	for i := range 2 * maxReviews {
		r.remember(ask(fmt.Sprint(i)), answer{until: now.Add(remembered)})
	}
	if len(r.known) > maxReviews {
		t.Errorf("%d answers are remembered", len(r.known))
	}
}
