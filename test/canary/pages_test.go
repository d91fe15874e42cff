// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package canary_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/web"
	"espalier.dev/internal/web/view"
)

// visitor makes the calls of the pages of the web UI, and keeps the answers.
type visitor struct {
	*world
	browser *http.Client
	place   string
	shown   map[string]string
}

// pages returns what the server of the web UI answers to somebody who looks at everything in the namespace, except to the wish to see the
// value of an import.
func (w *world) pages() map[string]string {
	w.Helper()
	server, err := web.New(web.Options{
		Config: w.Config(), Mode: web.Local, Namespaces: []string{w.Namespace}, Inspectors: inspectors, Logs: processLog().kept,
		Log: processLog().logger,
	})
	if err != nil {
		w.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		w.Fatal(err)
	}
	address, stop := testkit.Serve(w, server.Serve)
	v := visitor{world: w, browser: &http.Client{Jar: jar, Timeout: testkit.Patience}, place: "http://" + address.String(), shown: map[string]string{}}
	opened, err := v.browser.Get(server.NewAddress(address))
	if err != nil {
		w.Fatal(err)
	}
	opened.Body.Close()
	v.lookAround()
	stop()
	return v.shown
}

func (v visitor) lookAround() {
	v.Helper()
	v.post("checks", struct{}{})
	v.act(view.Ref{Kind: "Installation", Namespace: v.Namespace, Name: "missing"}, "reconcile")
	v.stream("overview", nil)
	for _, name := range v.names(&lsv1alpha1.InstallationList{}) {
		v.installation(name)
	}
	for _, name := range v.names(&lsv1alpha1.DeployItemList{}) {
		v.deployItem(name)
	}
	for _, name := range v.names(&pipelines.PipelineList{}) {
		v.pipeline(name)
	}
	for kind, list := range map[string]client.ObjectList{
		"Execution": &lsv1alpha1.ExecutionList{}, "Target": &lsv1alpha1.TargetList{}, "DataObject": &lsv1alpha1.DataObjectList{},
		"Secret": &corev1.SecretList{},
	} {
		for _, name := range v.names(list) {
			v.get("objects", kind, name)
		}
	}
	v.stream("targets", func(document string) bool {
		var targets view.Targets
		err := json.Unmarshal([]byte(document), &targets)
		checked := 0
		for _, row := range targets.Rows {
			if row.Check != nil {
				checked++
			}
		}
		return err == nil && checked == v.clusters()
	})
}

// clusters returns how many clusters can be checked.
func (v visitor) clusters() int {
	v.Helper()
	var targets []*lsv1alpha1.Target
	var lines []*pipelines.Pipeline
	for _, name := range v.names(&lsv1alpha1.TargetList{}) {
		targets = append(targets, testkit.Target(v.Namespace, name).Build())
		v.Read(targets[len(targets)-1])
	}
	for _, name := range v.names(&pipelines.PipelineList{}) {
		lines = append(lines, testkit.Pipeline(v.Namespace, name).Build())
		v.Read(lines[len(lines)-1])
	}
	return len(view.Lookable(targets, lines))
}

func (v visitor) installation(name string) {
	v.Helper()
	v.stream("installations/"+v.Namespace+"/"+name, nil)
	for _, call := range []string{"objects", "diff", "declared", "blueprints"} {
		v.get(call, "Installation", name)
	}
	v.get("preview", "Installation", name, "action", "reconcile")
	v.post("render", map[string]string{"namespace": v.Namespace, "name": name})
	v.post("render", map[string]string{"namespace": v.Namespace, "name": name, "values": "no: such import"})
}

func (v visitor) deployItem(name string) {
	v.Helper()
	v.get("objects", "DeployItem", name)
	v.get("logs", "DeployItem", name)
	var live view.Live
	if err := json.Unmarshal([]byte(v.get("live", "DeployItem", name)), &live); err != nil {
		v.Fatal(err)
	}
	for _, object := range live.Objects {
		v.get("live/object", "DeployItem", name, "objectVersion", object.APIVersion, "objectKind", object.Kind,
			"objectNamespace", object.Namespace, "objectName", object.Name)
	}
}

func (v visitor) pipeline(name string) {
	v.Helper()
	v.stream("pipelines/"+v.Namespace+"/"+name, nil)
	v.get("objects", "Pipeline", name)
	for _, action := range []string{"promote", "approve"} {
		v.get("preview", "Pipeline", name, "action", action, "environment", "prod", "revision", "1.1.0")
		v.act(view.Ref{Kind: "Pipeline", Namespace: v.Namespace, Name: name}, action)
	}
}

// act tries an action on an object; without an environment or an object, it is refused.
func (v visitor) act(ref view.Ref, action string) {
	v.Helper()
	v.post("actions", map[string]any{"action": action, "ref": ref})
}

// get makes a call about an object, with more parameters, and returns the body of the answer.
func (v visitor) get(call, kind, name string, more ...string) string {
	v.Helper()
	query := url.Values{"kind": {kind}, "namespace": {v.Namespace}, "name": {name}}
	for i := 0; i < len(more); i += 2 {
		query.Set(more[i], more[i+1])
	}
	answer, err := v.browser.Get(v.place + "/api/v1/" + call + "?" + query.Encode())
	return v.keep("GET "+call+" of "+kind+" "+name+" "+strings.Join(more, " "), answer, err)
}

func (v visitor) post(call string, body any) {
	v.Helper()
	answer, err := v.browser.Post(v.place+"/api/v1/"+call, "application/json", strings.NewReader(asJSON(body)))
	v.keep("POST "+call+" "+asJSON(body), answer, err)
}

func (v visitor) keep(request string, answer *http.Response, err error) string {
	v.Helper()
	if err != nil {
		v.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode >= http.StatusInternalServerError {
		v.Errorf("%s is answered with %s %s: %v", request, answer.Status, body, err)
	}
	v.shown["the web UI: "+request] = answer.Status + string(body)
	return string(body)
}

// stream keeps the documents of a stream: the first, or all up to one that is complete.
func (v visitor) stream(path string, complete func(document string) bool) {
	v.Helper()
	stream, err := v.browser.Get(v.place + "/api/v1/stream/" + path)
	if err != nil {
		v.Fatal(err)
	}
	defer stream.Body.Close()
	lines := bufio.NewReader(stream.Body)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			v.Fatalf("%s is answered with %s, and ends: %v", path, stream.Status, err)
		}
		document, found := strings.CutPrefix(line, "data: ")
		if !found {
			continue
		}
		v.shown["the web UI: "+path] += document
		if complete == nil || complete(document) {
			return
		}
	}
}
