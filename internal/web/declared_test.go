// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"
	"strings"
	"testing"

	"espalier.dev/internal/testkit"
	"espalier.dev/internal/web/view"
)

func typeIn(shown view.Declared, name string) string {
	for _, each := range shown.Imports {
		if each.Name == name {
			return each.Type
		}
	}
	return ""
}

// Types of values come from a registry, read once for everybody who may read its credentials.
func TestTypesOfBlueprintsInRegistries(t *testing.T) {
	cluster := testkit.Server(t)
	namespace := cluster.Namespace(t)
	shelf := stock(t, cluster, namespace)
	s := serve(t, cluster, Options{Mode: Cluster, Hosts: []string{"127.0.0.1"}, Now: newClock().now})
	path := "/api/v1/declared?name=far&namespace=" + namespace
	var first view.Declared
	s.login(t, tokenFor(t, cluster, namespace, looking(), rule("get", "contexts", "secrets", "configmaps"))).get(path).into(t, &first)
	if typeIn(first, "size") != "integer" || typeIn(first, "password") != "string" || first.Message != "" {
		t.Errorf("%+v", first)
	}
	asked := len(shelf.Requests())
	var second view.Declared
	s.login(t, tokenFor(t, cluster, namespace, looking(), rule("get", "contexts", "secrets", "configmaps"))).get(path).into(t, &second)
	if typeIn(second, "size") != "integer" || len(shelf.Requests()) != asked {
		t.Errorf("%+v, and the registry was asked %d times more", second, len(shelf.Requests())-asked)
	}
	less := s.login(t, tokenFor(t, cluster, namespace, looking(), rule("get", "contexts")))
	if answer := less.get(path); answer.StatusCode != http.StatusForbidden || !strings.Contains(answer.text, "get secrets") {
		t.Errorf("without the right to read Secrets: %s %s", answer.Status, answer.text)
	}
}

// An unreachable registry is reported, without its password, and not contacted again for a while.
func TestTypesOfARegistryThatIsAway(t *testing.T) {
	cluster := testkit.Server(t)
	namespace := cluster.Namespace(t)
	shelf := stock(t, cluster, namespace)
	clock := newClock()
	v := serve(t, cluster, Options{Now: clock.now}).local(t)
	shelf.Break(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) bool {
		http.Error(w, shelfPassword, http.StatusServiceUnavailable)
		return true
	})
	path := "/api/v1/declared?name=far&namespace=" + namespace
	asked := 0
	for _, again := range []bool{true, false} {
		answer := v.get(path)
		var got view.Declared
		answer.into(t, &got)
		if !strings.Contains(got.Message, "cannot be read") || strings.Contains(answer.text, shelfPassword) || len(got.Imports) > 0 {
			t.Errorf("%s", answer.text)
		}
		if requests := len(shelf.Requests()); (requests > asked) != again {
			t.Errorf("the registry was asked %d times, and %d before", requests, asked)
		} else {
			asked = requests
		}
	}
	shelf.Break(nil)
	clock.advance(unreadFor)
	var got view.Declared
	if v.get(path).into(t, &got); got.Message != "" || typeIn(got, "size") != "integer" {
		t.Errorf("once it is back: %+v", got)
	}
}
