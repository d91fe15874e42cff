// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package blueprint

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/template"
)

const clusterImport = `imports: [{name: cluster, type: target, targetType: landscaper.gardener.cloud/kubernetes-cluster}]
`

// goCall and spiffCall deploy the result of an expression.
func goCall(expression string) Files {
	return files(clusterImport+"deployExecutions: [{name: d, type: GoTemplate, file: d.yaml}]", "d.yaml",
		"deployItems:\n- {name: i, type: t, config: {apiVersion: v1, kind: C, x: {{ toJson ("+expression+") }}}}\n")
}

func spiffCall(expression string) Files {
	return files(clusterImport+"deployExecutions: [{name: d, type: Spiff, file: d.yaml}]", "d.yaml",
		"deployItems:\n- name: i\n  type: t\n  config:\n    apiVersion: v1\n    kind: C\n    x: (( "+expression+" ))\n")
}

// withCluster imports a Target. Templates must not see its configuration.
func withCluster(t *testing.T, e *Engine, f Files) Input {
	t.Helper()
	in := inputOf(t, e, f)
	in.Facts.Targets = []*lsv1alpha1.Target{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "garden", Name: "east"},
		Spec:       lsv1alpha1.TargetSpec{Type: lsv1alpha1.TargetTypeKubernetesCluster},
	}}
	in.Installation.Spec.Imports.Targets = []lsv1alpha1.TargetImport{{Name: "cluster", Target: "east"}}
	return in
}

func TestClusterCallsAreAnsweredFromOutside(t *testing.T) {
	account := ClusterCall{Credential: FunctionServiceAccount, Target: "east", Name: "robot", Namespace: "shop", Seconds: 3600}
	shoot := ClusterCall{Credential: FunctionShoot, Target: "east", Name: "robot", Namespace: "shop", Seconds: 3600}
	login := ClusterCall{Credential: FunctionOIDC, Target: "east", Issuer: "https://issuer", Client: "me"}
	ends := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	kubeconfig := base64.StdEncoding.EncodeToString([]byte("k"))
	timed := `{"expirationTimestamp":1767323045,"expirationTimestampReadable":"2026-01-02T03:04:05Z","kubeconfig":"` + kubeconfig + `"}`
	e := NewEngine()
	for name, test := range map[string]struct {
		files Files
		call  ClusterCall
		want  string
	}{
		"Go": {goCall(`getServiceAccountKubeconfig "robot" "shop" 3600 .imports.cluster`), account, `"` + kubeconfig + `"`},
		"Go with a time": {
			goCall(`getServiceAccountKubeconfigWithExpirationTimestamp "robot" "shop" 3600.0 .imports.cluster`), account, timed},
		"Go, a shoot":             {goCall(`getShootAdminKubeconfig "robot" "shop" 3600 .imports.cluster`), shoot, `"` + kubeconfig + `"`},
		"Go, a login":             {goCall(`getOidcKubeconfig "https://issuer" "me" .imports.cluster`), login, `"` + kubeconfig + `"`},
		"Spiff":                   {spiffCall(`getServiceAccountKubeconfig("robot", "shop", 3600, imports.cluster)`), account, `"` + kubeconfig + `"`},
		"Spiff that makes do":     {spiffCall(`getServiceAccountKubeconfig("robot", "shop", 3600, imports.cluster) || "none"`), account, `"` + kubeconfig + `"`},
		"Spiff, a shoot and when": {spiffCall(`getShootAdminKubeconfigWithExpirationTimestamp("robot", "shop", 3600, imports.cluster)`), shoot, timed},
	} {
		in := withCluster(t, e, test.files)
		in.Answers = Answers{}
		_, err := e.Render(in)
		var asked *Unanswered
		if !errors.As(err, &asked) || asked.Call != test.call || asked.Target == nil || asked.Target.Name != "east" {
			t.Errorf("%s: it asks %+v: %v", name, asked, err)
			continue
		}
		in.Answers = Answers{test.call: {Kubeconfig: "k", Expires: ends}}
		out, err := e.Render(in)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := string(out.DeployItems[0].Configuration.Raw); !strings.Contains(got, `"x":`+test.want) {
			t.Errorf("%s: got %s, not %s", name, got, test.want)
		}
		if !in.Blueprint.AsksClusters() {
			t.Errorf("%s: nobody knows that it asks", name)
		}
	}
	if plain := inputOf(t, e, goCall("1")); plain.Blueprint.AsksClusters() {
		t.Error("a blueprint that asks nobody asks clusters")
	}
}

// Cluster functions fail when a template is rendered without a cluster, and outside of executions.
func TestClusterCallsAreRefusedWhereNobodyAsks(t *testing.T) {
	e := NewEngine()
	for name, f := range map[string]Files{
		"Go":    goCall(`getServiceAccountKubeconfig "robot" "shop" 3600 .imports.cluster`),
		"Spiff": spiffCall(`getServiceAccountKubeconfig("robot", "shop", 3600, imports.cluster)`),
	} {
		const want = "function getServiceAccountKubeconfig calls the cluster of a Target, which only the controller does"
		_, err := e.Render(withCluster(t, e, f))
		var asked *Unanswered
		if err == nil || errors.As(err, &asked) || failure.KindOf(err) != failure.Terminal || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", name, err)
		}
		if found := Check(f); len(found.Errors) > 0 || len(found.Warnings) != 1 || !strings.Contains(found.Warnings[0], want) {
			t.Errorf("%s: validation finds %+v", name, found)
		}
	}
	in := withCluster(t, e, files("imports: [{name: word, schema: {type: string}}]"))
	in.Answers = Answers{}
	in.Installation.Spec.ImportDataMappings = map[string]lsv1alpha1.AnyJSON{
		"word": {Raw: []byte(`"(( getOidcKubeconfig(\"a\", \"b\", cluster) ))"`)},
	}
	if _, err := e.Render(in); err == nil || !strings.Contains(err.Error(), "only templates of executions reach the clusters of Targets") {
		t.Errorf("a data mapping: %v", err)
	}
}

func TestClusterCallsWithWrongArguments(t *testing.T) {
	const secret = "hunter2hunter2"
	e := NewEngine()
	for expression, want := range map[string]string{
		`getServiceAccountKubeconfig "robot" "shop" 3600`:                                        "it takes 4 arguments, not 3",
		`getServiceAccountKubeconfig "robot" "shop" "` + secret + `" .imports.cluster`:           "argument 3, the seconds, must be a positive number of whole seconds",
		`getServiceAccountKubeconfig "robot" "shop" 0.5 .imports.cluster`:                        "argument 3, the seconds",
		`getServiceAccountKubeconfig "robot" "shop" -1 .imports.cluster`:                         "argument 3, the seconds",
		`getServiceAccountKubeconfig "" "shop" 1 .imports.cluster`:                               "argument 1, the name, must be a text that is not empty",
		`getServiceAccountKubeconfig "x/../` + secret + `" "shop" 1 .imports.cluster`:            "argument 1, the name, must be the name of an object",
		`getServiceAccountKubeconfig "x" "` + secret + `?" 1 .imports.cluster`:                   "argument 2, the namespace, must be the name of a namespace",
		`getServiceAccountKubeconfig "x" "y" 1 (dict "metadata" (dict "name" "` + secret + `"))`: "the target is not one that the installation imports",
		`getServiceAccountKubeconfig "x" "y" 1 (dict "spec" (dict "config" "` + secret + `"))`:   "argument 4, the target, must be a Target that the installation imports",
		`getShootAdminKubeconfigWithExpirationTimestamp "x" "y" 1 (list .imports.cluster)`:       "argument 4, the target",
		`getOidcKubeconfig 1 "y" .imports.cluster`:                                               "argument 1, the URL of the issuer, must be a text",
		`getOidcKubeconfig "x" "y" .imports.cluster.metadata`:                                    "argument 3, the target",
	} {
		in := withCluster(t, e, goCall(expression))
		in.Answers = Answers{}
		_, err := e.Render(in)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", expression, err)
			continue
		}
		var told *template.Error
		if !errors.As(err, &told) || strings.Contains(told.Message, secret) {
			t.Errorf("%s: the message shows the argument: %v", expression, err)
		}
	}
}

// The Secret with the answers is read, and deleted with the installation, if there may be one.
func TestTheSecretWithAnswersIsKnown(t *testing.T) {
	e := NewEngine()
	name := dataflow.AnswersSecret("tree")
	asks := inputOf(t, e, spiffCall(`getOidcKubeconfig("a", "b", imports.cluster)`)).Blueprint.StateSecrets("tree")
	silent := inputOf(t, e, spiffCall("1")).Blueprint.StateSecrets("tree")
	if len(asks) != len(silent)+1 || asks[len(asks)-1] != name {
		t.Errorf("the Secrets are %q and %q", asks, silent)
	}
}
