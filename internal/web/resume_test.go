// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bufio"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
	"espalier.dev/internal/web/hub"
	"espalier.dev/internal/web/rights"
	"espalier.dev/internal/web/view"
)

// firstName returns the name of the first event of a stream, which may be a beat.
func (v *visitor) firstName(path, seen string) string {
	v.t.Helper()
	request := v.request(http.MethodGet, "/api/v1/stream/"+path, nil)
	request.Header.Set("Last-Event-ID", seen)
	response, err := direct.Do(request)
	if err != nil {
		v.t.Fatal(err)
	}
	defer response.Body.Close()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if name, found := strings.CutPrefix(lines.Text(), "event: "); found {
			return name
		}
	}
	v.t.Fatal("the stream has ended")
	return ""
}

func TestAStreamThatComesBackGoesOn(t *testing.T) {
	cluster := testkit.Server(t)
	namespace := cluster.Namespace(t)
	clitest.Shop(t, cluster, namespace)
	v := serve(t, cluster, Options{Namespaces: []string{namespace}}).local(t)
	for _, path := range []string{"overview", "installations/" + namespace + "/shop"} {
		stream := v.follow(path)
		first := stream.next()
		stream.body.Close()
		if got := v.firstName(path, first.id); got != "beat" {
			t.Errorf("%s: who has missed nothing gets a %s", path, got)
		}
		if got := v.follow(path, "Last-Event-ID", "x"+first.id).next(); got.name != "snapshot" {
			t.Errorf("%s: after a restart comes %+v", path, got)
		}
	}
	stream := v.follow("overview")
	first := stream.next()
	stream.body.Close()
	clitest.Blog(t, cluster, namespace)
	// Browsers send the header when they reconnect by themselves, and the pages send the parameter when they do.
	for how, back := range map[string]*reading{
		"header":    v.follow("overview", "Last-Event-ID", first.id),
		"parameter": v.follow("overview?after=" + url.QueryEscape(first.id)),
	} {
		if next := back.next(); next.name != "change" || !strings.Contains(next.data, "blog") {
			t.Errorf("%s: who has missed a change gets %+v", how, next)
		}
	}
}

// Readers with the same rights share the overview, even after they have checked targets, unless one of them has something to see.
func TestLooksAtTargetsLeaveTheOverviewShared(t *testing.T) {
	now := time.Now()
	ref := view.Ref{Kind: "Target", Namespace: "a", Name: "b"}
	r := &reader{key: "jo", checks: newChecks()}
	topic := func(name string) string {
		p := &pipe{by: caller{reader: r}, topic: hub.Topic{View: name, Reader: "somebody"}}
		return p.topicFor(&rights.Class{Key: "all"}).Reader
	}
	r.checks.due([]view.Ref{ref}, now)
	late := now.Add(365 * 24 * time.Hour)
	r.checks.put(ref, &view.TargetCheck{At: now, Expires: &late})
	if topic(viewTargets) != "jo" || topic(viewOverview) != "" || topic(viewPipeline) != "" {
		t.Errorf("after a look: targets %q, overview %q, pipeline %q", topic(viewTargets), topic(viewOverview), topic(viewPipeline))
	}
	soon := now.Add(time.Hour)
	r.checks.put(ref, &view.TargetCheck{At: now, Expires: &soon})
	r.checks.put(ref, &view.TargetCheck{At: now, Expires: &soon})
	if !strings.HasPrefix(topic(viewOverview), soonPrefix) {
		t.Error("nobody is told of a credential that ends soon")
	}
}
