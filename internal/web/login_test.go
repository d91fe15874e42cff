// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"espalier.dev/internal/web/rights"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"espalier.dev/internal/testkit"
	"espalier.dev/internal/web/session"
)

func TestAnAddressIsGoodOnce(t *testing.T) {
	s := serve(t, testkit.Server(t), Options{})
	listens, err := net.ResolveTCPAddr("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	path := strings.TrimPrefix(s.NewAddress(listens), "http://"+s.address)
	v := &visitor{t: t, at: s.address}
	first := v.get(path)
	if first.StatusCode != http.StatusSeeOther || first.Header.Get("Location") != "/" || len(first.Cookies()) != 1 {
		t.Fatalf("%s %v", first.Status, first.Header)
	}
	cookie := first.Cookies()[0]
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/" || cookie.MaxAge != 12*60*60 {
		t.Errorf("the cookie is %v", cookie)
	}
	second := v.get(path)
	if second.StatusCode != http.StatusForbidden || len(second.Cookies()) != 0 || !strings.Contains(second.text, "Start the command again") {
		t.Errorf("the second time: %s %q", second.Status, second.text)
	}
	v.take(first)
	if again := v.get(path); again.StatusCode != http.StatusSeeOther || len(again.Cookies()) != 0 {
		t.Errorf("the browser that was let in: %s", again.Status)
	}
	if answer := v.post("/api/v1/login", map[string]string{"token": "x"}); answer.StatusCode != http.StatusConflict {
		t.Errorf("a login where there is none: %s", answer.Status)
	}
}

func TestWithoutASessionThereIsNothing(t *testing.T) {
	s := serve(t, testkit.Server(t), Options{})
	good := s.local(t).cookie
	name, value, _ := strings.Cut(good, "=")
	for what, cookie := range map[string]string{
		"none": "", "another name": "other=" + value, "no signature": name + "=" + strings.Split(value, ".")[0],
		"a wrong one": good[:len(good)-4] + "AAAA", "nonsense": name + "=%%%",
		"that of another process": serve(t, testkit.Server(t), Options{}).local(t).cookie,
	} {
		v := &visitor{t: t, at: s.address, cookie: cookie}
		for _, path := range []string{
			"me", "stream/overview", "stream/installations/a/b", "stream/pipelines/a/b", "stream/targets", "preview", "values", "objects",
			"logs", "blueprints",
		} {
			if answer := v.get("/api/v1/" + path); answer.StatusCode != http.StatusUnauthorized || !strings.Contains(answer.text, "address") {
				t.Errorf("%s: %s answers %s %s", what, path, answer.Status, answer.text)
			}
		}
		for _, path := range []string{"actions", "render"} {
			if answer := v.post("/api/v1/"+path, struct{}{}); answer.StatusCode != http.StatusUnauthorized {
				t.Errorf("%s: %s answers %s", what, path, answer.Status)
			}
		}
	}
}

func TestLoginWithAToken(t *testing.T) {
	cluster := testkit.Server(t)
	namespace := cluster.Namespace(t)
	host := []string{"127.0.0.1"}
	s := serve(t, cluster, Options{Mode: Cluster, Hosts: host, ClusterName: "test"})
	stranger := &visitor{t: t, at: s.address}
	for _, token := range []string{"nonsense", ""} {
		if answer := stranger.post("/api/v1/login", map[string]string{"token": token}); answer.StatusCode < 400 || len(answer.Cookies()) > 0 {
			t.Errorf("token %q: %s", token, answer.Status)
		}
	}
	token := tokenFor(t, cluster, namespace, looking())
	v := s.login(t, token)
	if !strings.HasPrefix(v.cookie, "__Host-") || strings.Contains(v.cookie, token) {
		t.Errorf("the cookie is %s", v.cookie)
	}
	var who me
	v.get("/api/v1/me").into(t, &who)
	if !strings.HasPrefix(who.User, "system:serviceaccount:"+namespace) || who.Mode != Cluster || who.Cluster != "test" || len(who.Groups) == 0 {
		t.Errorf("%+v", who)
	}
	if answer := v.get("/open?code=x"); answer.Header.Get("Location") != "/login" {
		t.Errorf("%s", answer.Status)
	}
	// The token is in the memory of one process: another process does not have it, even with the same key.
	if answer := v.post("/api/v1/logout", struct{}{}); answer.StatusCode != http.StatusNoContent {
		t.Errorf("%s", answer.Status)
	}
	if answer := v.get("/api/v1/me"); answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("after the logout: %s", answer.Status)
	}
}

// A token that the cluster no longer accepts ends the session.
func TestASessionEndsWithItsToken(t *testing.T) {
	cluster := testkit.Server(t)
	namespace := cluster.Namespace(t)
	clock := newClock()
	s := serve(t, cluster, Options{Mode: Cluster, Hosts: []string{"127.0.0.1"}, Now: clock.now})
	v := s.login(t, tokenFor(t, cluster, namespace, looking()))
	set, err := kubernetes.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	err = set.CoreV1().ServiceAccounts(namespace).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for v.get("/api/v1/me").StatusCode != http.StatusUnauthorized { // The API server caches tokens for some seconds.
		clock.advance(tokenCheck)
	}
}

// clock is set by tests.
type clock struct{ at atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.at.Store(time.Now().UnixNano())
	return c
}

func (c *clock) now() time.Time           { return time.Unix(0, c.at.Load()) }
func (c *clock) advance(by time.Duration) { c.at.Add(int64(by)) }

func TestSessionsEnd(t *testing.T) {
	now := time.Now()
	s := serve(t, testkit.Server(t), Options{Now: func() time.Time { return now }})
	v := s.local(t)
	if answer := v.get("/api/v1/me"); answer.StatusCode != http.StatusOK {
		t.Fatal(answer.Status)
	}
	later := session.NewKeeper(session.Options{Key: []byte("key"), Now: func() time.Time { return now.Add(-session.Lifetime) }})
	current := session.NewKeeper(session.Options{Key: []byte("key"), Now: func() time.Time { return now }})
	for keeper, valid := range map[*session.Keeper]bool{later: false, current: true} {
		request := v.request(http.MethodGet, "/", nil)
		request.Header.Set("Cookie", cookieFrom(keeper))
		if _, err := current.Of(request); (err == nil) != valid {
			t.Errorf("a session that began then is valid: %t", err == nil)
		}
	}
}

func cookieFrom(keeper *session.Keeper) string {
	recorder := httptest.NewRecorder()
	keeper.Open(recorder, rights.User{}, "")
	return strings.Split(recorder.Header().Get("Set-Cookie"), ";")[0]
}
