// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package export_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/export"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
	"espalier.dev/internal/testkit/managed"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// planted is part of every value that stays behind without --with-secrets.
const planted = "swordfish"

// blueprint deploys a ConfigMap with all that it imports, into the namespace that an import names.
const blueprint = `
imports:
  - {name: where, schema: {type: string}}
  - {name: greeting, schema: {type: string}}
  - {name: password, schema: {type: string}}
  - {name: colour, schema: {type: string}}
  - {name: cluster, type: target, targetType: landscaper.gardener.cloud/kubernetes-cluster}
exports:
  - {name: answer, schema: {type: string}}
deployExecutions:
  - name: deploy
    type: GoTemplate
    template: |
      deployItems:
        - name: shown
          type: landscaper.gardener.cloud/kubernetes-manifest
          target: {import: cluster}
          config:
            apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2
            kind: ProviderConfiguration
            updateStrategy: update
            manifests:
              - policy: manage
                manifest:
                  apiVersion: v1
                  kind: ConfigMap
                  metadata: {namespace: {{ .imports.where }}, name: shown}
                  data: {text: "{{ .imports.greeting }} {{ .imports.password }} {{ .imports.colour }}"}
exportExecutions:
  - name: export
    type: GoTemplate
    template: |
      exports: {answer: "yes"}
`

// fixture is a namespace with an installation that imports something of each kind.
type fixture struct {
	*testkit.World
	shop *lsv1alpha1.Installation
}

// newFixture makes it. What the installation deploys goes into the namespace of the guest.
func newFixture(t *testing.T, guest string) *fixture {
	h := &fixture{World: testkit.NewWorld(t)}
	object := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: h.Namespace, Name: name} }
	builder := testkit.Installation(h.Namespace, "shop").Context("own").Blueprint(blueprint).
		ImportData("where", "where").ImportData("greeting", "greeting").ImportSecret("password", "login", "password").
		ImportConfigMap("colour", "colours", "main").ImportTarget("cluster", "cluster").ExportData("answer", "answer").
		Label("team", "shop").Annotate("kubectl.kubernetes.io/last-applied-configuration", "{}").
		Annotate(lsv1alpha1.ReconcileIfChangedAnnotation, "true").Finalizer("example.com/keep").Reconcile()
	h.shop = builder.Build()
	chart := map[string]any{"auths": []any{
		map[string]any{"url": "https://charts.example.com", "authHeader": "Basic " + planted},
		map[string]any{"url": "https://more.example.com", "secretRef": map[string]any{"name": "charts", "key": "authHeader"}},
		map[string]any{"url": "https://me:" + planted + "@third.example.com/stable@1", "authHeader": "Basic " + planted},
	}}
	context := testkit.Context(h.Namespace, "own").PullSecret("pull").Configuration("helmChartRepoCredentials", chart).Build()
	context.OCMConfig = &lsv1alpha1.LocalObjectReference{Name: "ocm"}
	context.ComponentVersionOverwritesReference = "newer"
	context.VerificationSignatures = map[string]lsv1alpha1.VerificationSignature{"release": {
		PublicKeySecretReference: &lsv1alpha1.SecretReference{
			ObjectReference: lsv1alpha1.ObjectReference{Namespace: h.Namespace, Name: "keys"}, Key: "release",
		},
	}}
	for _, name := range []string{"pull", "charts", "keys"} {
		h.Create(&corev1.Secret{ObjectMeta: object(name), StringData: map[string]string{"a": planted}})
	}
	h.Create(
		&corev1.Secret{ObjectMeta: object("login"), StringData: map[string]string{"password": planted}},
		&corev1.ConfigMap{ObjectMeta: object("colours"), Data: map[string]string{"main": "green"}},
		&corev1.ConfigMap{ObjectMeta: object("ocm"), Data: map[string]string{".ocmconfig": "# " + planted + "\ntype: generic.config.ocm.software/v1\n"}},
		testkit.DataObject(h.Namespace, "where", guest).Build(),
		testkit.DataObject(h.Namespace, "greeting", "Hello").Label(lsv1alpha1.DataObjectSourceLabel, "Inst.friend").
			Annotate(lsv1alpha1.DataObjectHashAnnotation, "1").Build(),
		testkit.Target(h.Namespace, "cluster").Cluster(t, h.APIServer).Build(),
		&lsv1alpha1.ComponentVersionOverwrites{ObjectMeta: object("newer")}, context, h.shop,
	)
	h.SetStatus(h.shop, map[string]any{"phase": "Failed", "jobID": "1", "observedGeneration": 1})
	return h
}

func (h *fixture) export(args ...string) clitest.Result {
	h.Helper()
	return clitest.Run(h.T, h.APIServer, h.Namespace, clitest.Call{Command: export.New, Args: args})
}

// allow lets a user read everything but Secrets.
func (h *fixture) allow(user string) {
	h.Helper()
	meta := metav1.ObjectMeta{Namespace: h.Namespace, Name: user}
	h.Create(
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{lsv1alpha1.GroupName}, Resources: []string{"*"}, Verbs: []string{"get"}},
			{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}},
		}},
		&rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		})
}

// documents are the objects in an output.
func documents(t *testing.T, result clitest.Result, server string) []*unstructured.Unstructured {
	t.Helper()
	if result.Code != 0 {
		t.Fatalf("exit code %d: %s", result.Code, result.Stderr)
	}
	var objects []*unstructured.Unstructured
	for text := range strings.SplitSeq(strings.ReplaceAll(result.Stdout, "<server>", server), "---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
			t.Fatalf("%v:\n%s", err, text)
		}
		objects = append(objects, object)
	}
	return objects
}

func titles(objects []*unstructured.Unstructured) []string {
	var names []string
	for _, object := range objects {
		names = append(names, object.GetKind()+"/"+object.GetName())
	}
	slices.Sort(names)
	return names
}

// What is exported with its Secrets makes the same installation elsewhere, and nothing of the place that it comes from goes with it.
func TestAnExportedInstallationSucceedsElsewhere(t *testing.T) {
	guest := managed.NewWorld(t)
	h := newFixture(t, guest.Namespace)
	result := h.export("shop", "--with-secrets")
	objects := documents(t, result, h.Config().Host)
	want := []string{
		"ComponentVersionOverwrites/newer", "ConfigMap/colours", "ConfigMap/ocm", "Context/own", "DataObject/greeting", "DataObject/where",
		"Installation/shop", "Secret/charts", "Secret/keys", "Secret/login", "Secret/pull", "Target/cluster",
	}
	if got := titles(objects); !slices.Equal(got, want) {
		t.Errorf("exported are %v\nwant %v", got, want)
	}
	for _, trace := range []string{"status:", "uid:", "resourceVersion", "managedFields", "creationTimestamp", "last-applied", "finalizers", "operation:", "<namespace>", "Inst.friend", "hash:"} {
		if strings.Contains(result.Stdout, trace) {
			t.Errorf("the output has %q:\n%s", trace, result.Stdout)
		}
	}
	if last := objects[len(objects)-1]; last.GetKind() != "Installation" || last.GetLabels()["team"] != "shop" ||
		last.GetAnnotations()[lsv1alpha1.ReconcileIfChangedAnnotation] != "true" {
		t.Errorf("the last object is %+v", last)
	}
	if !strings.Contains(result.Stderr, "greeting is exported by installation friend") {
		t.Errorf("it does not tell of the value of another installation: %s", result.Stderr)
	}
	for _, object := range objects {
		object.SetNamespace(guest.Namespace)
		if err := guest.Client().Create(t.Context(), object); err != nil {
			t.Fatalf("create %s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
	guest.Manage()
	copied := testkit.Installation(guest.Namespace, "shop").Build()
	guest.Annotate(copied, lsv1alpha1.OperationAnnotation, string(lsv1alpha1.OperationReconcile))
	testkit.EventuallyFinished(t, h.APIServer, copied, lsv1alpha1.PhaseSucceeded)
	shown := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: guest.Namespace, Name: "shown"}}
	if !guest.Read(shown) || shown.Data["text"] != "Hello "+planted+" green" {
		t.Errorf("it has deployed %v", shown.Data)
	}
}

// Without --with-secrets no credential leaves the namespace, nor need one be readable; what has to be created is named.
func TestAnExportWithoutSecrets(t *testing.T) {
	h := newFixture(t, "elsewhere")
	h.allow("frank")
	result := h.export("shop", "--as=frank")
	if strings.Contains(result.Stdout+result.Stderr, planted) || strings.Contains(result.Stdout, "certificate") {
		t.Errorf("it shows a secret: %s%s", result.Stdout, result.Stderr)
	}
	want := []string{
		"ComponentVersionOverwrites/newer", "ConfigMap/colours", "Context/own", "DataObject/greeting", "DataObject/where", "Installation/shop", "Target/cluster",
	}
	objects := documents(t, result, h.Config().Host)
	if got := titles(objects); !slices.Equal(got, want) {
		t.Errorf("exported are %v", got)
	}
	for _, left := range []string{"ConfigMap ocm, Secret charts, Secret cluster-access, Secret keys, Secret login, Secret pull", "--with-secrets", "authHeader for https://charts.example.com", "authHeader for https://third.example.com/stable@1 in", "credentials in the URL https://third.example.com/stable@1 in Context own are left out"} {
		if !strings.Contains(result.Stderr, left) {
			t.Errorf("it does not tell of %q: %s", left, result.Stderr)
		}
	}
	for _, object := range objects {
		if name, _, _ := unstructured.NestedString(object.Object, "spec", "secretRef", "name"); object.GetKind() == "Target" &&
			name != "cluster-access" {
			t.Errorf("the Target is %+v", object.Object)
		}
	}
	if result := h.export("shop", "--as=frank", "--with-secrets"); result.Code != cli.ExitNotFound || result.Stdout != "" {
		t.Errorf("with Secrets that the user may not read, it ends with %d: %s%s", result.Code, result.Stdout, result.Stderr)
	}
}

// The URL of a blueprint is no place for a password, but one may be there.
func TestTheUserInTheURLOfABlueprintStaysBehind(t *testing.T) {
	h := &fixture{World: testkit.NewWorld(t)}
	root := testkit.Installation(h.Namespace, "shop").Build()
	root.Spec.Blueprint = lsv1alpha1.BlueprintDefinition{
		Git: &lsv1alpha1.GitBlueprint{URL: "https://me:" + planted + "@git.example.com/shop.git", Revision: "main"},
	}
	h.Create(root)
	result := h.export("shop")
	if !strings.Contains(result.Stdout, "url: https://git.example.com/shop.git\n") || strings.Contains(result.Stdout+result.Stderr, planted) ||
		!strings.Contains(result.Stderr, "https://git.example.com/shop.git of the blueprint of Installation shop are left out") {
		t.Errorf("%s%s", result.Stdout, result.Stderr)
	}
	if result := h.export("shop", "--with-secrets"); !strings.Contains(result.Stdout, planted) || strings.Contains(result.Stderr, "left out") {
		t.Errorf("with secrets: %s%s", result.Stdout, result.Stderr)
	}
}

// What another installation has exported stays behind if it contains what that one has from a Secret, or if nobody can tell.
func TestAnExportedValueFromASecretStaysBehind(t *testing.T) {
	h := newFixture(t, "elsewhere")
	h.allow("frank")
	h.Create(testkit.Installation(h.Namespace, "friend").Blueprint("imports: []").ImportSecret("password", "login", "password").Build())
	for _, test := range []struct {
		greeting, as string
		stays        bool
	}{
		{"Hello", "", false},
		{"Hello", "frank", true},
		{"Hello, " + planted, "", true},
		{"Hello, " + planted, "frank", true},
	} {
		h.Patch(testkit.DataObject(h.Namespace, "greeting", "").Build(), `{"data":"`+test.greeting+`"}`)
		result := h.export("shop", "--as="+test.as)
		exported := slices.Contains(titles(documents(t, result, h.Config().Host)), "DataObject/greeting")
		if exported == test.stays || strings.Contains(result.Stdout+result.Stderr, planted) ||
			strings.Contains(result.Stderr, "DataObject greeting, ") != test.stays {
			t.Errorf("%+v: exported %t\n%s", test, exported, result.Stderr)
		}
	}
	if result := h.export("shop", "--with-secrets"); !strings.Contains(result.Stdout, "data: Hello, "+planted) {
		t.Errorf("with Secrets: %s", result.Stdout)
	}
}

// Of all installations, none takes a copy of what another brings along; nested ones come from their roots.
func TestExportOfSeveral(t *testing.T) {
	w := testkit.NewWorld(t)
	h := &fixture{World: w}
	root := testkit.Installation(w.Namespace, "first").Blueprint("imports: []").ExportData("word", "word").Build()
	second := testkit.Installation(w.Namespace, "second").Blueprint("imports: [{name: word, schema: {type: string}}]").ImportData("word", "word").
		ImportTarget("cluster", "nowhere").Build()
	w.Create(root, second, clitest.Nested(root, "part").Blueprint("imports: []").Build(),
		testkit.DataObject(w.Namespace, "word", "x").Label(lsv1alpha1.DataObjectSourceLabel, "Inst.first").Build())
	result := h.export("--all")
	if got := titles(documents(t, result, "")); !slices.Equal(got, []string{"Installation/first", "Installation/second"}) {
		t.Errorf("exported are %v", got)
	}
	if !strings.Contains(result.Stderr, "do not exist: Target nowhere") || strings.Contains(result.Stderr, "Context") {
		t.Errorf("it tells: %s", result.Stderr)
	}
	if got := titles(documents(t, h.export("second"), "")); !slices.Equal(got, []string{"DataObject/word", "Installation/second"}) {
		t.Errorf("exported are %v", got)
	}
	if result := h.export("first", "-o", "json"); result.Code != 0 || !strings.Contains(result.Stdout, `"kind": "List"`) {
		t.Errorf("exit code %d: %s", result.Code, result.Stdout)
	}
	for name, call := range map[string]struct {
		args []string
		code int
		want string
	}{
		"a nested one":     {[]string{"first-part"}, cli.ExitError, "espalier export first"},
		"none":             {nil, cli.ExitError, "--all"},
		"both":             {[]string{"first", "--all"}, cli.ExitError, "--all"},
		"one that is gone": {[]string{"third"}, cli.ExitNotFound, "does not exist"},
		"no such format":   {[]string{"first", "-o", "table"}, cli.ExitError, "yaml, json"},
		"no rights":        {[]string{"--all", "--as=nobody"}, cli.ExitNotFound, "cannot list installations"},
	} {
		if result := h.export(call.args...); result.Code != call.code || !strings.Contains(result.Stderr, call.want) || result.Stdout != "" {
			t.Errorf("%s ends with %d: %s", name, result.Code, result.Stderr)
		}
	}
}
