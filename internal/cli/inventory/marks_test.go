// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/objecttree"
)

func TestArguments(t *testing.T) {
	for name, test := range map[string]struct {
		args       []string
		kind, name string
	}{
		"with a slash": {[]string{"deploy/web"}, "deploy", "web"},
		"apart":        {[]string{"deployments.apps", "web"}, "deployments.apps", "web"},
		"no name":      {[]string{"deploy/"}, "", ""},
		"no kind":      {[]string{"/web"}, "", ""},
		"only a name":  {[]string{"web"}, "", ""},
		"two slashes":  {[]string{"deploy/web/nginx"}, "", ""},
		"both":         {[]string{"deploy/web", "nginx"}, "", ""},
	} {
		if kind, object, err := objectNamed(test.args); kind != test.kind || object != test.name || (err != nil) != (test.name == "") {
			t.Errorf("%s: %q, %q, %v", name, kind, object, err)
		}
	}
	for text, want := range map[string]string{"cluster": "shops/cluster", "garden/cluster": "garden/cluster", "/cluster": "", "garden/": "", "a/b/c": ""} {
		if key, err := targetNamed(text, "shops"); err == nil && key.String() != want || err != nil && want != "" {
			t.Errorf("--target %s: %s, %v", text, key, err)
		}
	}
}

func object(kind string, change func(*liveObject)) *liveObject {
	o := &liveObject{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: kind}}
	o.Namespace, o.Name, o.UID = "web", "one", "1"
	change(o)
	return o
}

func TestReleasesOfObjects(t *testing.T) {
	annotated := map[string]string{releaseName: "site", releaseNamespace: "web"}
	for name, test := range map[string]struct {
		object *liveObject
		want   bool
	}{
		"an object": {object("ConfigMap", func(o *liveObject) {
			o.Annotations, o.Labels = annotated, map[string]string{managedBy: "Helm"}
		}), true},
		"not by Helm any more": {object("ConfigMap", func(o *liveObject) { o.Annotations = annotated }), false},
		"a record": {object("Secret", func(o *liveObject) {
			o.Name, o.Labels = recordPrefix+"site.v3", map[string]string{"owner": "helm", "name": "site"}
		}), true},
		"no record": {object("Secret", func(o *liveObject) { o.Labels = map[string]string{"owner": "helm", "name": "site"} }), false},
		"a ConfigMap as a record": {object("ConfigMap", func(o *liveObject) {
			o.Name, o.Labels = recordPrefix+"site.v3", map[string]string{"owner": "helm", "name": "site"}
		}), false},
	} {
		key, got := releaseOn(test.object)
		if got != test.want || got && key != (client.ObjectKey{Namespace: "web", Name: "site"}) {
			t.Errorf("%s: %v, %s", name, got, key)
		}
	}
}

// The newest record counts, and its name only if the hash fits.
func TestMakersOfReleases(t *testing.T) {
	key := client.ObjectKey{Namespace: "shops", Name: "web.site"}
	record := func(version, owner, item string) liveObject {
		return *object("Secret", func(o *liveObject) {
			o.Labels = map[string]string{"version": version, recordOwner: owner, recordItem: item}
		})
	}
	mine := record("10", hashOf(key), "shops.web.site")
	for name, test := range map[string]struct {
		records []liveObject
		want    maker
	}{
		"none":            {nil, maker{}},
		"newest":          {[]liveObject{record("9", "other", ""), mine, record("2", "other", "")}, maker{hashOf(key), key}},
		"left over":       {[]liveObject{record("11", "other", "shops.web.site"), mine}, maker{hash: "other"}},
		"by Helm itself":  {[]liveObject{record("11", "", "shops.web.site"), mine}, maker{}},
		"no version":      {[]liveObject{record("x", hashOf(key), "shops.web.site")}, maker{}},
		"no room for it":  {[]liveObject{record("1", hashOf(key), "")}, maker{hash: hashOf(key)}},
		"a name in parts": {[]liveObject{record("1", hashOf(key), "shops")}, maker{hash: hashOf(key)}},
	} {
		if got := makerOf(test.records); got != test.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestWhatDeployItemsRemember(t *testing.T) {
	item := func(status string) *lsv1alpha1.DeployItem {
		return &lsv1alpha1.DeployItem{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: "item"},
			Status:     lsv1alpha1.DeployItemStatus{ProviderStatus: &runtime.RawExtension{Raw: []byte(status)}},
		}
	}
	const resource = `"apiVersion":"v1","kind":"ConfigMap","namespace":"web","name":"one"`
	plain := object("ConfigMap", func(*liveObject) {})
	labelled := object("ConfigMap", func(o *liveObject) {
		o.Labels = map[string]string{"manifest.deployer.landscaper.gardener.cloud/deployitem": "item"}
	})
	for name, test := range map[string]struct {
		status string
		object *liveObject
		want   bool
	}{
		"the same":                  {`{"managedResources":[{"resource":{` + resource + `,"uid":"1"}}]}`, plain, true},
		"another one":               {`{"managedResources":[{"resource":{` + resource + `,"uid":"2"}}]}`, labelled, false},
		"not seen yet":              {`{"managedResources":[{"resource":{` + resource + `}}]}`, plain, false},
		"by an earlier controller":  {`{"managedResources":[{` + resource + `}]}`, labelled, true},
		"of an earlier, not marked": {`{"managedResources":[{` + resource + `}]}`, plain, false},
		"another kind": {`{"managedResources":[{"resource":{"apiVersion":"v1","kind":"Secret","namespace":"web","name":"one","uid":"1"}}]}`,
			plain, false},
		"nothing": {`{}`, labelled, false},
	} {
		if got := remembers(item(test.status), test.object); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	release := client.ObjectKey{Namespace: "web", Name: "site"}
	mine := hashOf(client.ObjectKey{Namespace: "shops", Name: "item"})
	for name, test := range map[string]struct {
		status string
		maker  maker
		want   bool
	}{
		"its release":           {`{"release":{"name":"site","namespace":"web"}}`, maker{}, true},
		"made by it":            {`{"release":{"name":"site","namespace":"web"}}`, maker{hash: mine}, true},
		"made by another":       {`{"release":{"name":"site","namespace":"web"}}`, maker{hash: "other"}, false},
		"taken over":            {`{"release":{"name":"site","namespace":"web","takenOverBy":"shops/other"}}`, maker{}, false},
		"in another namespace":  {`{"release":{"name":"site","namespace":"shop"}}`, maker{}, false},
		"an item without any":   {`{}`, maker{}, false},
		"an item without a one": {`{"release":null}`, maker{hash: mine}, false},
	} {
		if got := test.maker.hasRelease(item(test.status), release); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// The promotion is the one that has set the revision, and a Pipeline that could not read an application has set none.
func TestOrigins(t *testing.T) {
	app := application{lsv1alpha1.GroupName, "Installation", client.ObjectKey{Namespace: "prod", Name: "shop"}}
	pipeline := func(revision string, promotions ...pipelines.PromotionStatus) pipelines.Pipeline {
		p := pipelines.Pipeline{ObjectMeta: metav1.ObjectMeta{Namespace: "lines", Name: "shop"}}
		p.Spec.AppRef = pipelines.AppReference{APIVersion: "landscaper.gardener.cloud/v1alpha1", Kind: "Installation", Name: "shop"}
		p.Spec.Environments = []pipelines.Environment{
			{Name: "dev", Targets: []pipelines.Target{{Namespace: "dev"}}}, {Name: "prod", Targets: []pipelines.Target{{Namespace: "prod"}}},
		}
		status := pipelines.EnvironmentStatus{Targets: []pipelines.TargetStatus{{Namespace: "prod", Revision: revision}}}
		if len(promotions) > 0 {
			status.Promotion, status.History = &promotions[0], promotions[1:]
		}
		p.Status.Environments = map[string]pipelines.EnvironmentStatus{
			"dev": {Targets: []pipelines.TargetStatus{{Namespace: "dev", Revision: "1.3.0"}}}, "prod": status,
		}
		return p
	}
	promotion := func(revision string, state pipelines.PromotionState, run int64) pipelines.PromotionStatus {
		return pipelines.PromotionStatus{Revision: revision, State: state, Run: run}
	}
	elsewhere := pipeline("1.2.0", promotion("1.2.0", pipelines.PromotionComplete, 3))
	elsewhere.Status.Environments["prod"].Targets[0].ClusterAppRef.ClusterRef = &pipelines.ClusterReference{Name: "east"}
	other := pipeline("1.2.0")
	other.Spec.AppRef.APIVersion = "example.org/v1"
	for name, test := range map[string]struct {
		pipeline pipelines.Pipeline
		revision string
		found    bool
		run      int64
	}{
		"complete":         {pipeline("1.2.0", promotion("1.2.0", pipelines.PromotionComplete, 3)), "1.2.0", true, 3},
		"an earlier one":   {pipeline("1.2.0", promotion("1.3.0", pipelines.PromotionUnapproved, 4), promotion("1.2.0", pipelines.PromotionComplete, 3)), "1.2.0", true, 3},
		"as seen last":     {pipeline("1.2.0", promotion("1.2.0", pipelines.PromotionComplete, 3)), "", true, 3},
		"just written":     {pipeline("1.2.0", promotion("1.3.0", pipelines.PromotionSucceeded, 4)), "1.3.0", true, 4},
		"still waiting":    {pipeline("1.2.0", promotion("1.2.0", pipelines.PromotionUnapproved, 4)), "1.2.0", true, 0},
		"open request":     {pipeline("1.2.0", promotion("1.2.0", pipelines.PromotionCreated, 4)), "1.2.0", true, 0},
		"by hand":          {pipeline("1.2.0", promotion("1.2.0", pipelines.PromotionComplete, 3)), "1.2.1", true, 0},
		"never read":       {pipeline("", promotion("1.2.0", pipelines.PromotionComplete, 3)), "1.2.0", false, 0},
		"another cluster":  {elsewhere, "1.2.0", false, 0},
		"another app kind": {other, "1.2.0", false, 0},
	} {
		got := originsOf([]pipelines.Pipeline{test.pipeline}, []subject{{app, test.revision}})
		switch {
		case (len(got) == 1) != test.found:
			t.Errorf("%s: %+v", name, got)
		case len(got) == 0:
		case (got[0].Promotion != nil) != (test.run != 0), got[0].Promotion != nil && got[0].Promotion.Run != test.run:
			t.Errorf("%s: %+v", name, got[0].Promotion)
		case got[0].Environment != "prod" || got[0].First:
			t.Errorf("%s: environment %s", name, got[0].Environment)
		}
	}
	dev := app
	dev.Namespace = "dev"
	if got := originsOf([]pipelines.Pipeline{pipeline("1.2.0")}, []subject{{dev, "1.3.0"}}); len(got) != 1 || !got[0].First {
		t.Errorf("of the first environment: %+v", got)
	}
}

// Addresses are shown without the credentials that people write into them.
func TestAddresses(t *testing.T) {
	installation := &lsv1alpha1.Installation{}
	installation.Spec.Blueprint.Git = &lsv1alpha1.GitBlueprint{URL: "https://me:pssst@git.example.com/b.git", Revision: "main", Path: "shop"}
	if got := blueprintOf(installation); got != "https://git.example.com/b.git@main:shop" {
		t.Errorf("the blueprint is from %s", got)
	}
	record := pipelines.PromotionStatus{PullRequest: &pipelines.PullRequestStatus{
		URL: "https://me:pssst@git.example.com/pulls/7", Repository: &pipelines.PullRequestStrategy{URL: "https://pssst@git.example.com/shop.git"},
	}}
	shown := withoutCredentials(&record)
	if shown.PullRequest.URL != "https://git.example.com/pulls/7" || shown.PullRequest.Repository.URL != "https://git.example.com/shop.git" {
		t.Errorf("shown is %+v", shown.PullRequest)
	}
	if got := withoutUser("https://me:pss%zzst@git.example.com"); got != "https://git.example.com" {
		t.Errorf("what is no URL is shown as %s", got)
	}
}

// A release that another deploy item has is not listed here, and neither are its workloads.
func TestReleasesThatOthersHave(t *testing.T) {
	item := &lsv1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: "item"}}
	item.Status.ProviderStatus = &runtime.RawExtension{Raw: []byte(`{
		"release":{"name":"site","namespace":"web","revision":2,"takenOverBy":"shops/other"},
		"managedResources":[{"policy":"manage","resource":{"apiVersion":"v1","kind":"ConfigMap","namespace":"web","name":"own","uid":"1"}},
			{"resource":{"apiVersion":"apps/v1","kind":"Deployment","namespace":"web","name":"site"}}]}`)}
	node := &objecttree.Node{Kind: objecttree.DeployItem, Object: item, Status: &item.Status.RunStatus}
	var titles []string
	for _, e := range entriesOf([]*objecttree.Node{node}) {
		titles = append(titles, e.Kind+" "+e.title()+" "+e.Policy+" "+string(e.UID))
	}
	if diff := cmp.Diff([]string{"ConfigMap web/own manage 1"}, titles); diff != "" {
		t.Error(diff)
	}
}
