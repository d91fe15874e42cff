// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"bytes"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dial"
	"espalier.dev/internal/testkit"
)

// patience is for broken tests only.
const patience = 60 * time.Second

// world is a host with Targets, and everything that goes out from it.
type world struct {
	host      *testkit.APIServer
	namespace string
	clock     *clocktesting.FakePassiveClock
	traffic   *traffic
	clusters  *Clusters
}

// newWorld returns a world whose watches recover without much ado. Its clock stands still until a test moves it.
func newWorld(t *testing.T, change ...func(*Options)) *world {
	t.Helper()
	w := &world{host: testkit.Server(t), clock: clocktesting.NewFakePassiveClock(time.Now()), traffic: newTraffic()}
	w.namespace = w.host.Namespace(t)
	options := Options{
		Host:          w.host.Client(),
		HostConfig:    w.host.Config(),
		Clock:         w.clock,
		Dialer:        dial.Rules{AllowLoopback: true},
		WrapTransport: w.traffic.wrap,
	}
	for _, f := range change {
		f(&options)
	}
	w.clusters = NewClusters(options)
	w.clusters.timing.pause = func(int) time.Duration { return 10 * time.Millisecond }
	t.Cleanup(w.clusters.Close)
	return w
}

func (w *world) advance(by time.Duration) { w.clock.SetTime(w.clock.Now().Add(by)) }

// cluster returns what a Target leads to.
func (w *world) cluster(t *testing.T, target *lsv1alpha1.Target) *Cluster {
	t.Helper()
	cluster, err := w.clusters.For(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	return cluster
}

// traffic counts what goes to target clusters, and may answer in their place.
type traffic struct {
	mutex    sync.Mutex
	requests []string // method and path with query
	streams  int      // watches that are open
	changed  chan struct{}
	answer   func(*http.Request) *http.Response
}

func newTraffic() *traffic { return &traffic{changed: make(chan struct{})} }

func (tr *traffic) wrap(base http.RoundTripper) http.RoundTripper {
	return roundTrip(func(request *http.Request) (*http.Response, error) {
		tr.mutex.Lock()
		tr.requests = append(tr.requests, request.Method+" "+request.URL.RequestURI())
		answer := tr.answer
		tr.noteLocked()
		tr.mutex.Unlock()
		if answer != nil {
			if response := answer(request); response != nil {
				return response, nil
			}
		}
		response, err := base.RoundTrip(request)
		if err == nil && isStream(request) && response.StatusCode == http.StatusOK {
			tr.count(1)
			response.Body = &closing{ReadCloser: response.Body, closed: sync.OnceFunc(func() { tr.count(-1) })}
		}
		return response, err
	})
}

func (tr *traffic) count(by int) {
	tr.mutex.Lock()
	defer tr.mutex.Unlock()
	tr.streams += by
	tr.noteLocked()
}

func (tr *traffic) noteLocked() {
	close(tr.changed)
	tr.changed = make(chan struct{})
}

// await waits until the traffic is as the test wants it.
func (tr *traffic) await(t *testing.T, what string, holds func(*traffic) bool) {
	t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		tr.mutex.Lock()
		ok, changed := holds(tr), tr.changed
		requests, streams := strings.Join(tr.requests, "\n"), tr.streams
		tr.mutex.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-limit.C:
			t.Fatalf("waited in vain for %s; %d watches are open after\n%s", what, streams, requests)
		}
	}
}

func (tr *traffic) awaitStreams(t *testing.T, want int) {
	t.Helper()
	tr.await(t, "watches", func(tr *traffic) bool { return tr.streams == want })
}

// number returns how many requests contain the text.
func (tr *traffic) number(text string) int {
	tr.mutex.Lock()
	defer tr.mutex.Unlock()
	return tr.numberLocked(text)
}

func (tr *traffic) numberLocked(text string) int {
	n := 0
	for _, request := range tr.requests {
		if strings.Contains(request, text) {
			n++
		}
	}
	return n
}

// answerWith lets a function answer requests; nil passes them on.
func (tr *traffic) answerWith(answer func(*http.Request) *http.Response) {
	tr.mutex.Lock()
	defer tr.mutex.Unlock()
	tr.answer = answer
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

type closing struct {
	io.ReadCloser
	closed func()
}

func (c *closing) Close() error {
	c.closed()
	return c.ReadCloser.Close()
}

// relay is a port that leads to an API server. Closing it makes the server unreachable for those who come this way.
type relay struct {
	address, server string

	mutex       sync.Mutex
	listener    net.Listener
	connections map[net.Conn]bool
	accepted    int
	changed     chan struct{}
}

func newRelay(t *testing.T, server *testkit.APIServer) *relay {
	t.Helper()
	r := &relay{
		address:     "127.0.0.1:0",
		server:      strings.TrimPrefix(server.Config().Host, "https://"),
		connections: map[net.Conn]bool{},
		changed:     make(chan struct{}),
	}
	r.open(t)
	t.Cleanup(r.close)
	return r
}

func (r *relay) open(t *testing.T) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", r.address)
	if err != nil {
		t.Fatal(err)
	}
	r.mutex.Lock()
	r.listener, r.address = listener, listener.Addr().String()
	r.mutex.Unlock()
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go r.carry(connection)
		}
	}()
}

func (r *relay) carry(in net.Conn) {
	out, err := net.Dial("tcp", r.server)
	if err != nil {
		_ = in.Close()
		return
	}
	r.note(func() { r.connections[in], r.accepted = true, r.accepted+1 })
	go func() {
		_, _ = io.Copy(out, in)
		_ = out.Close()
		_ = in.Close()
	}()
	_, _ = io.Copy(in, out)
	_ = in.Close()
	r.note(func() { delete(r.connections, in) })
}

func (r *relay) note(change func()) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	change()
	close(r.changed)
	r.changed = make(chan struct{})
}

// close ends the port and all connections through it.
func (r *relay) close() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	_ = r.listener.Close()
	for connection := range r.connections {
		_ = connection.Close()
	}
}

func (r *relay) awaitNoConnection(t *testing.T) {
	t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		r.mutex.Lock()
		open, changed := len(r.connections), r.changed
		r.mutex.Unlock()
		if open == 0 {
			return
		}
		select {
		case <-changed:
		case <-limit.C:
			t.Fatalf("%d connections stay open", open)
		}
	}
}

// account creates a service account that may do what the rules say in its namespace, and returns a token for it.
func account(t *testing.T, server *testkit.APIServer, namespace, name string, rules ...rbacv1.PolicyRule) string {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	user := &corev1.ServiceAccount{ObjectMeta: meta}
	testkit.Create(t, server, user, &rbacv1.Role{ObjectMeta: meta, Rules: rules}, &rbacv1.RoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: name}},
	})
	request := &authenticationv1.TokenRequest{}
	if err := server.Client().SubResource("token").Create(t.Context(), user, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

func may(resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{resource}, Verbs: verbs}
}

// kubeconfigFor returns a kubeconfig with a token for a server, reached by that address or, if there is none, its own.
func kubeconfigFor(t *testing.T, server *testkit.APIServer, address, token string) string {
	t.Helper()
	parts := ordinaryKubeconfig()
	config := server.Config()
	parts.cluster["server"] = config.Host
	if address != "" {
		parts.cluster["server"] = "https://" + address
	}
	authority := config.CAData
	parts.cluster["certificate-authority-data"] = base64.StdEncoding.EncodeToString(authority)
	parts.user["token"] = token
	return string(parts.text(t))
}

func secretWith(namespace, name, key, value string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string][]byte{key: []byte(value)}}
}

func configMap(namespace, name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// statusAnswer is what an API server says when it refuses.
func statusAnswer(request *http.Request, code int, reason metav1.StatusReason) *http.Response {
	body := `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":"` + string(reason) + `"}`
	return &http.Response{
		StatusCode: code, Request: request, ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader([]byte(body))),
	}
}
