// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/check"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
)

// planted is part of every credential that no message may show.
const planted = "swordfish"

// site is a namespace with Targets, in a cluster in which the account of the controllers is one of that namespace.
type site struct {
	*estate
	set *kubernetes.Clientset
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{estate: &estate{T: t, server: testkit.Server(t)}}
	s.namespace = s.server.Namespace(t)
	var err error
	if s.set, err = kubernetes.NewForConfig(s.server.Config()); err != nil {
		t.Fatal(err)
	}
	testkit.Create(t, s.server, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: account}})
	return s
}

// looked runs the command and returns what it has found about Targets, by their names.
func (s *site) looked(args ...string) map[string][]check.Finding {
	s.Helper()
	result, report := s.check(s.T, append([]string{"--system-namespace=" + s.namespace, "--target-timeout=3m"}, args...)...)
	if strings.Contains(result.Stdout+result.Stderr, planted) {
		s.Errorf("it shows a secret: %s%s", result.Stdout, result.Stderr)
	}
	found := map[string][]check.Finding{}
	for _, finding := range report.Findings {
		if finding.Check == "targets" {
			name := strings.TrimPrefix(finding.Object, "Target <namespace>/")
			found[name] = append(found[name], finding)
		}
	}
	return found
}

// kubeconfig leads to an API server with the certificate of which it is trusted, as the user that is given in YAML.
func kubeconfig(server string, authority []byte, user string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}], "+
		"clusters: [{name: c, cluster: {server: %q, certificate-authority-data: %q}}], users: [{name: u, user: {%s}}]}",
		server, base64.StdEncoding.EncodeToString(authority), user)
}

// here leads to the API server of the test.
func (s *site) here(user string) string {
	s.Helper()
	raw, err := os.ReadFile(s.server.Kubeconfig())
	if err != nil {
		s.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(raw)
	if err != nil {
		s.Fatal(err)
	}
	return kubeconfig(config.Host, config.CAData, user)
}

// elsewhere leads to a server that answers as it is told.
func (s *site) elsewhere(user string, answer http.HandlerFunc) string {
	s.Helper()
	server := httptest.NewTLSServer(answer)
	s.Cleanup(server.Close)
	return kubeconfig(server.URL, authorityOf(server), user)
}

func authorityOf(server *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

// selfConfig leads to the cluster of the Target as a service account.
func selfConfig(name string) map[string]any {
	return map[string]any{"selfConfig": map[string]any{"serviceAccount": map[string]any{"name": name}}}
}

// allowTokens lets the controllers create tokens for a service account.
func (s *site) allowTokens(name string) {
	s.Helper()
	meta := metav1.ObjectMeta{Namespace: s.namespace, Name: "tokens"}
	testkit.Create(s.T, s.server,
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{""}, Resources: []string{"serviceaccounts/token"}, ResourceNames: []string{name}, Verbs: []string{"create"},
		}}},
		&rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "tokens"},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: s.namespace, Name: account}},
		})
}

// tokenUntil is a token that claims to end then.
func tokenUntil(end time.Time) string {
	claims := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"exp":%d}`, end.Unix()))
	return "token: " + planted + "." + claims + ".sign"
}

// poor is a kubeconfig of a service account that may read ConfigMaps and nothing else.
func (s *site) poor() string {
	s.Helper()
	meta := metav1.ObjectMeta{Namespace: s.namespace, Name: "poor"}
	testkit.Create(s.T, s.server, &corev1.ServiceAccount{ObjectMeta: meta},
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "update"},
		}}},
		&rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "poor"},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: s.namespace, Name: "poor"}},
		})
	token, err := s.set.CoreV1().ServiceAccounts(s.namespace).CreateToken(s.Context(), "poor", &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(40 * 24 * 60 * 60))},
	}, metav1.CreateOptions{})
	if err != nil {
		s.Fatal(err)
	}
	return s.here("token: " + token.Status.Token)
}

// deployed stores a deploy item that has deployed objects to a Target.
func (s *site) deployed(target string, objects ...string) {
	s.Helper()
	item := testkit.DeployItem(s.namespace, "of-"+target).Manifests().Target(target).Build()
	item.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseSucceeded)
	var managed []map[string]any
	for _, object := range objects {
		version, kind, _ := strings.Cut(object, " ")
		managed = append(managed, map[string]any{
			"resource": map[string]any{"apiVersion": version, "kind": kind, "namespace": s.namespace, "name": "web"},
		})
	}
	text, err := json.Marshal(map[string]any{"apiVersion": "a/v1", "kind": "ProviderStatus", "managedResources": managed})
	if err != nil {
		s.Fatal(err)
	}
	item.Status.ProviderStatus = &runtime.RawExtension{Raw: text}
	clitest.Store(s.T, s.server, item)
}

// Of all Targets those are named that cannot be used, with the reason, and no others; no credential is shown.
func TestTargetsAreLookedAt(t *testing.T) {
	s := newSite(t)
	version := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"gitVersion":"v1.33.0"}`) }
	copied := testkit.Target(s.namespace, "copied").Label(lsv1alpha1.DataObjectSourceTypeLabel, lsv1alpha1.DataObjectSourceImport)
	poor := s.poor()
	// Nobody sends it a token because of a Target that anybody may have written.
	hungry := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a token is sent to another cluster: %s", r.URL)
	}))
	t.Cleanup(hungry.Close)
	s.allowTokens("trusted")
	testkit.Create(t, s.server,
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "deployer"}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "trusted"}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "empty"}, StringData: map[string]string{"other": planted}},
		testkit.Target(s.namespace, "good").Cluster(t, s.server).Build(),
		testkit.Target(s.namespace, "gone").Kubeconfig(kubeconfig("https://127.0.0.1:1", nil, "token: "+planted)).Build(),
		testkit.Target(s.namespace, "expired").Kubeconfig(s.here(tokenUntil(clitest.Ago(time.Hour)))).Build(),
		testkit.Target(s.namespace, "revoked").Kubeconfig(s.here("token: "+planted)).Build(),
		testkit.Target(s.namespace, "ending").Kubeconfig(s.elsewhere(tokenUntil(clitest.Ago(-3*24*time.Hour)), version)).Build(),
		testkit.Target(s.namespace, "lasting").Kubeconfig(s.elsewhere(tokenUntil(clitest.Ago(-30*24*time.Hour)), version)).Build(),
		testkit.Target(s.namespace, "talkative").Kubeconfig(s.elsewhere("token: "+planted, func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "what shall I do with "+r.Header.Get("Authorization"), http.StatusInternalServerError)
		})).Build(),
		testkit.Target(s.namespace, "dangerous").Kubeconfig(s.here("exec: {command: "+planted+"}")).Build(),
		testkit.Target(s.namespace, "lost").Secret("none", "kubeconfig").Build(),
		testkit.Target(s.namespace, "keyless").Secret("empty", "kubeconfig").Build(),
		testkit.Target(s.namespace, "self").Config(selfConfig("deployer")).Build(),
		testkit.Target(s.namespace, "elsewhere").Config(map[string]any{"oidcConfig": map[string]any{
			"server": hungry.URL, "caData": authorityOf(hungry), "audience": []string{"elsewhere"},
			"serviceAccount": map[string]any{"name": "trusted"},
		}}).Build(),
		testkit.Target(s.namespace, "poor").Kubeconfig(poor).Build(),
		copied.Kubeconfig(kubeconfig("https://127.0.0.1:1", nil, "token: "+planted)).Build(),
		testkit.Target(s.namespace, "foreign").Type("example.com/bucket").Config(map[string]any{"password": planted}).Build(),
	)
	s.deployed("good", "v1 ConfigMap", "example.com/v1 Gone")
	s.deployed("poor", "v1 ConfigMap", "v1 Secret")
	want := map[string]check.Finding{
		"gone":      {Level: check.Doubtful, Message: "cannot reach: https://127.0.0.1:1", Next: []string{"check that the cluster runs"}},
		"expired":   {Level: check.Wrong, Message: "its token expired at ", Next: []string{"put a new one"}},
		"revoked":   {Level: check.Wrong, Message: "rejects", Next: []string{"put a new one"}},
		"ending":    {Level: check.Doubtful, Message: "its token expires at ", Next: []string{"put a new one"}},
		"talkative": {Level: check.Doubtful, Message: "<masked>", Next: []string{"run the check again"}},
		"dangerous": {Level: check.Wrong, Message: "exec", Next: []string{"docs/targets.md"}},
		"lost":      {Level: check.Wrong, Message: "does not exist", Next: []string{"docs/targets.md"}},
		"keyless":   {Level: check.Wrong, Message: `has no key "kubeconfig"`, Next: []string{"docs/targets.md"}},
		"self": {
			Level: check.Wrong, Message: "acts as service account <namespace>/deployer, for which the controllers may not create tokens",
			Next: []string{"kubectl -n <namespace> create rolebinding espalier-tokens"},
		},
		"elsewhere": {Level: check.Unknown, Message: "would send a token of its service account", Next: []string{"tree --live"}},
		"poor": {
			Level: check.Doubtful, Message: "delete configmaps in namespace <namespace>, get secrets in namespace <namespace>, " +
				"patch secrets in namespace <namespace> and 1 more", Next: []string{"these rights"},
		},
	}
	got := s.looked()
	for name, want := range want {
		found := got[name]
		if len(found) != 1 || found[0].Level != want.Level || !strings.Contains(found[0].Message, want.Message) ||
			!strings.Contains(strings.Join(found[0].Next, "\n"), want.Next[0]) {
			t.Errorf("of %s it is said %+v\nwant %+v", name, found, want)
		}
	}
	for name, found := range got {
		if _, wanted := want[name]; !wanted {
			t.Errorf("of %s it is said %+v", name, found)
		}
	}
	if found := s.looked("--targets=false"); len(found) != 0 {
		t.Errorf("targets are looked at although they should not: %+v", found)
	}
}

// What the user may not read is unknown, and no error.
func TestTargetsThatTheUserMayNotRead(t *testing.T) {
	s := newSite(t)
	meta := metav1.ObjectMeta{Namespace: s.namespace, Name: "lister"}
	testkit.Create(t, s.server,
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{lsv1alpha1.GroupName}, Resources: []string{"targets"}, Verbs: []string{"list"},
		}}},
		&rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "lister"},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "lister"}},
		},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "access"}, StringData: map[string]string{"kubeconfig": planted}},
		testkit.Target(s.namespace, "secret").Secret("access", "kubeconfig").Build(),
		testkit.Target(s.namespace, "self").Config(selfConfig(account)).Build(),
	)
	found := s.looked("--as=lister")
	for name, message := range map[string]string{"secret": "you may not read", "self": "you may not create tokens"} {
		if len(found[name]) != 1 || found[name][0].Level != check.Unknown || !strings.Contains(found[name][0].Message, message) {
			t.Errorf("of %s it is said %+v", name, found[name])
		}
	}
	if found = s.looked("--as=nobody"); len(found) != 1 || len(found["Targets"]) != 1 || found["Targets"][0].Level != check.Unknown {
		t.Errorf("who may not list them is told %+v", found)
	}
}

// A cluster that takes connections and never answers is named when its time is up.
func TestTargetsThatNeverAnswer(t *testing.T) {
	s := newSite(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	const many = 12
	for i := range many {
		silent := kubeconfig("https://"+listener.Addr().String(), nil, fmt.Sprintf("token: %s-%d", planted, i))
		testkit.Create(t, s.server, testkit.Target(s.namespace, fmt.Sprintf("silent-%d", i)).Kubeconfig(silent).Build())
	}
	found := s.looked("--target-timeout=1s")
	for i := range many {
		one := found[fmt.Sprintf("silent-%d", i)]
		if len(one) != 1 || one[0].Level != check.Doubtful || !strings.Contains(one[0].Message, "did not answer this machine within 1s") {
			t.Errorf("of silent-%d it is said %+v", i, one)
		}
	}
	result := clitest.Run(t, s.server, s.namespace, clitest.Call{Command: check.New, Args: []string{"--target-timeout=0s"}})
	if result.Code != cli.ExitError || !strings.Contains(result.Stderr, "--target-timeout is 0s") {
		t.Errorf("a limit of nothing, with exit code %d: %s", result.Code, result.Stderr)
	}
}
