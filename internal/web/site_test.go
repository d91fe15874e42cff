// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"espalier.dev/internal/testkit"
	"espalier.dev/internal/web/view"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// site is a running server.
type site struct {
	*Server
	address string
	stop    func()
}

// serve runs a server until the end of the test.
func serve(t testing.TB, cluster *testkit.APIServer, options Options) *site {
	t.Helper()
	if options.Config == nil {
		options.Config = cluster.Config()
	}
	if options.Mode == "" {
		options.Mode = Local
	}
	options.Log = logr.Discard()
	server, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	address, stop := testkit.Serve(t, server.Serve)
	return &site{Server: server, address: address.String(), stop: stop}
}

// visitor is a browser.
type visitor struct {
	t      testing.TB
	at     string
	cookie string
}

// local opens a local server through its address.
func (s *site) local(t testing.TB) *visitor {
	t.Helper()
	listens, err := net.ResolveTCPAddr("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	v := &visitor{t: t, at: s.address}
	v.take(v.get(strings.TrimPrefix(s.NewAddress(listens), "http://"+s.address)))
	if v.cookie == "" {
		t.Fatal("the address opened no session")
	}
	return v
}

// login opens a session with a token.
func (s *site) login(t testing.TB, token string) *visitor {
	t.Helper()
	v := &visitor{t: t, at: s.address}
	answer := v.post("/api/v1/login", map[string]string{"token": token})
	if answer.StatusCode != http.StatusNoContent {
		t.Fatalf("the login is answered with %s: %s", answer.Status, answer.text)
	}
	v.take(answer)
	return v
}

// take keeps the cookie of an answer, like browsers, which send secure cookies to this machine even without HTTPS.
func (v *visitor) take(answer answered) {
	for _, cookie := range answer.Cookies() {
		v.cookie = cookie.Name + "=" + cookie.Value
	}
}

type answered struct {
	*http.Response
	text string
}

// into reads the JSON of an answer.
func (a answered) into(t testing.TB, value any) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.text), value); err != nil {
		t.Fatalf("%s is no such JSON: %v\n%s", a.Request.URL, err, a.text)
	}
}

var direct = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func (v *visitor) request(method, path string, content io.Reader) *http.Request {
	v.t.Helper()
	request, err := http.NewRequestWithContext(v.t.Context(), method, "http://"+v.at+path, content)
	if err != nil {
		v.t.Fatal(err)
	}
	if v.cookie != "" {
		request.Header.Set("Cookie", v.cookie)
	}
	return request
}

func (v *visitor) do(request *http.Request) answered {
	v.t.Helper()
	response, err := direct.Do(request)
	if err != nil {
		v.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return answered{Response: response, text: string(text)}
}

func (v *visitor) get(path string) answered {
	v.t.Helper()
	return v.do(v.request(http.MethodGet, path, nil))
}

func (v *visitor) post(path string, content any) answered {
	v.t.Helper()
	text, err := json.Marshal(content)
	if err != nil {
		v.t.Fatal(err)
	}
	request := v.request(http.MethodPost, path, bytes.NewReader(text))
	request.Header.Set("Content-Type", "application/json")
	return v.do(request)
}

// event is a server-sent event.
type event struct{ name, id, data string }

// reading is an open stream.
type reading struct {
	t     testing.TB
	lines *bufio.Reader
	body  io.Closer
	bytes int
}

// follow opens a stream.
func (v *visitor) follow(path string, header ...string) *reading {
	v.t.Helper()
	request := v.request(http.MethodGet, "/api/v1/stream/"+path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := direct.Do(request)
	if err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(func() { response.Body.Close() })
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "text/event-stream" {
		v.t.Fatalf("stream %s is answered with %s", path, response.Status)
	}
	return &reading{t: v.t, lines: bufio.NewReader(response.Body), body: response.Body}
}

// read returns the next event other than a beat; false if the stream has ended.
func (r *reading) read() (event, bool) {
	var e event
	for {
		line, err := r.lines.ReadString('\n')
		r.bytes += len(line)
		if err != nil {
			return e, false
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "event":
			e.name = value
		case "id":
			e.id = value
		case "data":
			e.data = value
		case "":
			if e.name != "beat" {
				return e, true
			}
			e = event{}
		}
	}
}

func (r *reading) next() event {
	r.t.Helper()
	e, ok := r.read()
	if !ok {
		r.t.Fatal("the stream has ended")
	}
	return e
}

// until returns the first event that satisfies good.
func (r *reading) until(good func(event) bool) event {
	r.t.Helper()
	for {
		if e := r.next(); good(e) {
			return e
		}
	}
}

// installationsIn returns the names of the installations in an overview or its change.
func installationsIn(t testing.TB, e event) []string {
	t.Helper()
	var document view.Overview
	if err := json.Unmarshal([]byte(e.data), &document); err != nil {
		t.Fatalf("%s: %v", e.data, err)
	}
	var names []string
	for _, row := range document.Installations {
		names = append(names, row.Ref.Namespace+"/"+row.Ref.Name)
	}
	return names
}

// tokenFor creates a user with rights in one namespace, and returns their token.
func tokenFor(t testing.TB, cluster *testkit.APIServer, namespace string, rules ...rbacv1.PolicyRule) string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "visitor-"}}
	testkit.Create(t, cluster, account)
	meta := metav1.ObjectMeta{Namespace: namespace, Name: account.Name}
	testkit.Create(t, cluster, &rbacv1.Role{ObjectMeta: meta, Rules: rules}, &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: account.Name},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: account.Name}},
	})
	request := &authenticationv1.TokenRequest{}
	if err := cluster.Client().SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

// rule grants verbs on resources of all groups.
func rule(verbs string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: resources, Verbs: strings.Fields(verbs)}
}

// looking grants what a reader needs.
func looking() rbacv1.PolicyRule {
	return rule("get list watch", "installations", "executions", "deployitems", "dataobjects", "targets", "pipelines", "events")
}
