// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package rights_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/rights"
	"espalier.dev/internal/testkit"
)

// webUI uses the web UI as a user who has the roles for readers in one namespace.
func (s *scene) webUI() {
	s.Create(testkit.Installation(s.Namespace, "shown").Build())
	cookie := s.logIn(s.person("reader", "viewer", "value-viewer"))
	request := s.request(http.MethodGet, "/api/v1/stream/overview", nil)
	request.Header.Set("Cookie", cookie)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		s.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		if data, found := strings.CutPrefix(lines.Text(), "data: "); found && strings.Contains(data, `"`+s.Namespace+`"`) &&
			strings.Contains(data, `"shown"`) {
			return
		}
	}
	s.Errorf("the page does not show the installation: %s", answer.Status)
}

// people do what their roles permit.
func (s *scene) people() {
	s.Create(testkit.Installation(s.Namespace, "there").Build(), s.secret("there", "a", "b"))
	read := func(list client.ObjectList) func(client.Client) error {
		return func(c client.Client) error { return c.List(s.Context(), list, client.InNamespace(s.Namespace)) }
	}
	write := func(object client.Object) func(client.Client) error {
		return func(c client.Client) error {
			return c.Create(s.Context(), object.DeepCopyObject().(client.Object), client.DryRunAll)
		}
	}
	calls := map[string]func(client.Client) error{
		"see installations": read(&lsv1alpha1.InstallationList{}),
		"see pipelines":     read(&pipelines.PipelineList{}),
		"see events":        read(&eventsv1.EventList{}),
		"see items":         read(&lsv1alpha1.DeployItemList{}),
		"see values":        read(&lsv1alpha1.DataObjectList{}),
		"see targets":       read(&lsv1alpha1.TargetList{}),
		"see secrets":       read(&corev1.SecretList{}),
		"install":           write(testkit.Installation(s.Namespace, "new").Build()),
		"promote":           write(testkit.Pipeline(s.Namespace, "new").Environment("dev", s.Namespace).Build()),
		"give a grant":      write(testkit.Grant(s.Namespace, "elsewhere")),
	}
	for role, may := range map[string][]string{
		"viewer":       {"see installations", "see pipelines", "see events"},
		"value-viewer": {"see items", "see values", "see targets"},
		"editor": {
			"see installations", "see pipelines", "see events", "see items", "see values", "see targets", "install", "promote",
		},
		"approver": {"see pipelines"},
		"granter":  {"give a grant"},
	} {
		person := s.as(s.person("a-"+role, role))
		for what, call := range calls {
			err := call(person)
			if wanted := slices.Contains(may, what); wanted && err != nil || !wanted && !apierrors.IsForbidden(err) {
				s.Errorf("role %s, %s: %v", role, what, err)
			}
		}
	}
}

// as returns a client with a token.
func (s *scene) as(token string) client.Client {
	s.Helper()
	config := rest.AnonymousClientConfig(s.Config())
	config.BearerToken = token
	c, err := client.New(config, client.Options{Scheme: s.Client().Scheme()})
	if err != nil {
		s.Fatal(err)
	}
	return c
}

// person creates a user with roles in the namespace, and returns their token for the API server.
func (s *scene) person(name string, roles ...string) string {
	s.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}}
	s.Create(account)
	for _, role := range roles {
		s.Create(&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name + "-" + role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: rights.Prefix + role},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: s.Namespace, Name: name}},
		})
	}
	return s.token(name)
}

// token returns a user's token for certain audiences; none means the API server.
func (s *scene) token(name string, audiences ...string) string {
	s.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}}
	token := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: audiences}}
	if err := s.Client().SubResource("token").Create(s.Context(), account, token); err != nil {
		s.Fatal(err)
	}
	return token.Status.Token
}

// logIn returns the cookie of a session.
func (s *scene) logIn(token string) string {
	s.Helper()
	given, err := json.Marshal(map[string]string{"token": token})
	if err != nil {
		s.Fatal(err)
	}
	request := s.request(http.MethodPost, "/api/v1/login", given)
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		s.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusNoContent || len(answer.Cookies()) == 0 {
		s.Fatalf("the login is answered with %s", answer.Status)
	}
	return answer.Cookies()[0].Name + "=" + answer.Cookies()[0].Value
}

func (s *scene) request(method, path string, content []byte) *http.Request {
	s.Helper()
	request, err := http.NewRequestWithContext(s.Context(), method, s.estate.pages+path, bytes.NewReader(content))
	if err != nil {
		s.Fatal(err)
	}
	return request
}
