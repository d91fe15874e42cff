// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package target_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/target"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// planted is part of every credential that no output may show.
const planted = "swordfish"

// plan is a kubeconfig for a test to change: its context "main" is the current one.
type plan struct {
	*clientcmdapi.Config
}

// planFor leads to a server as a user with a token.
func planFor(server string, authority []byte, token string) plan {
	config := clientcmdapi.NewConfig()
	config.CurrentContext = "main"
	config.Contexts["main"] = &clientcmdapi.Context{Cluster: "here", AuthInfo: "me"}
	config.Clusters["here"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: authority}
	config.AuthInfos["me"] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts["other"] = &clientcmdapi.Context{Cluster: "there", AuthInfo: "them"}
	config.Clusters["there"] = &clientcmdapi.Cluster{Server: "https://elsewhere.example.com"}
	config.AuthInfos["them"] = &clientcmdapi.AuthInfo{Token: planted + "-of-others"}
	return plan{config}
}

// planOf leads to the API server of the test as its administrator.
func planOf(t *testing.T, server *testkit.APIServer) plan {
	t.Helper()
	config, err := clientcmd.LoadFromFile(server.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	p := planFor("", nil, "")
	current := config.Contexts[config.CurrentContext]
	p.Clusters["here"], p.AuthInfos["me"] = config.Clusters[current.Cluster], config.AuthInfos[current.AuthInfo]
	return p
}

func (p plan) text(t *testing.T) string {
	t.Helper()
	text, err := clientcmd.Write(*p.Config)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (p plan) file(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, []byte(p.text(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// place is a namespace in which Targets are created and checked.
type place struct {
	*testkit.World
}

// run runs a command below "espalier target". Nothing that it prints may contain a credential.
func (p place) run(stdin string, args ...string) clitest.Result {
	p.Helper()
	result := clitest.Run(p.T, p.APIServer, p.Namespace, clitest.Call{Command: target.New, Args: args, Stdin: stdin})
	if strings.Contains(result.Stdout+result.Stderr, planted) {
		p.Errorf("%v shows a credential:\n%s%s", args, result.Stdout, result.Stderr)
	}
	return result
}

// stored returns the Target of a name and the Secret that it refers to, as far as they exist.
func (p place) stored(name, secret string) (*lsv1alpha1.Target, *corev1.Secret) {
	p.Helper()
	made := testkit.Target(p.Namespace, name).Build()
	access := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: secret}}
	if !p.Read(made) {
		made = nil
	}
	if !p.Read(access) {
		access = nil
	}
	return made, access
}

// A Target comes from one context of a kubeconfig, the credential into a Secret, and the cluster answers. Nothing is left of what fails.
func TestCreateAndCheck(t *testing.T) {
	p := place{testkit.NewWorld(t)}
	file := planOf(t, p.APIServer).file(t)
	for _, dry := range []string{"client", "server"} {
		result := p.run("", "create", "production", "--from-kubeconfig", file, "--dry-run="+dry, "-o", "yaml")
		if result.Code != 0 || !strings.Contains(result.Stdout, "kubeconfig: <masked>") ||
			!strings.Contains(result.Stdout, "name: production-access") {
			t.Errorf("dry run %s, exit code %d:\n%s%s", dry, result.Code, result.Stdout, result.Stderr)
		}
		if made, secret := p.stored("production", "production-access"); made != nil || secret != nil {
			t.Errorf("dry run %s has created %v, %v", dry, made, secret)
		}
	}
	result := p.run("", "create", "production", "--from-kubeconfig", file)
	if result.Code != 0 || result.Stdout != "secret production-access created\ntarget production created\n" ||
		!strings.Contains(result.Stderr, "espalier target check production") {
		t.Fatalf("exit code %d:\n%s%s", result.Code, result.Stdout, result.Stderr)
	}
	made, secret := p.stored("production", "production-access")
	if made.Spec.Configuration != nil || *made.Spec.SecretRef != (lsv1alpha1.LocalSecretReference{Name: "production-access", Key: "kubeconfig"}) {
		t.Errorf("the Target is %+v", made.Spec)
	}
	if text := string(secret.Data["kubeconfig"]); strings.Contains(text, planted) || strings.Contains(text, "elsewhere") {
		t.Error("the Secret has the credential of another context")
	}
	checked := p.check("production")
	if one := checked.Targets[0]; checked.code != 0 || one.Status != "ok" || !one.Reached || one.Version == "" || one.Rights != "all" ||
		one.Expiring == "" || one.Expires == "" {
		t.Errorf("the check says, with exit code %d: %+v", checked.code, one)
	}

	if result = p.run("", "create", "production", "--from-kubeconfig", file); result.Code != cli.ExitError ||
		!strings.Contains(result.Stderr, "target production exists already") {
		t.Errorf("a second time, with exit code %d: %s", result.Code, result.Stderr)
	}
	if result = p.run("", "create", "production", "--from-kubeconfig", file, "--secret", "new"); result.Code != cli.ExitError {
		t.Errorf("a second time, with exit code %d: %s", result.Code, result.Stderr)
	}
	if _, left := p.stored("production", "new"); left != nil {
		t.Error("the Secret of a Target that could not be created is left")
	}
	// An attempt that was interrupted is taken up, and what somebody else has put there stays.
	p.Delete(made)
	if result = p.run("", "create", "production", "--from-kubeconfig", file); result.Code != 0 {
		t.Errorf("after an interrupt, with exit code %d: %s", result.Code, result.Stderr)
	}
	p.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: "taken-access"}, StringData: map[string]string{"kubeconfig": planted}})
	if result = p.run("", "create", "taken", "--from-kubeconfig", file); result.Code != cli.ExitError ||
		!strings.Contains(result.Stderr, "secret taken-access exists already") {
		t.Errorf("a Secret of somebody else, with exit code %d: %s", result.Code, result.Stderr)
	}
	if made, secret = p.stored("taken", "taken-access"); made != nil || string(secret.Data["kubeconfig"]) != planted {
		t.Error("a Secret of somebody else is used, or has changed")
	}
}

// If the Target is refused after all, its Secret does not stay.
func TestNothingStaysOfATargetThatIsRefused(t *testing.T) {
	p := place{testkit.NewWorld(t)}
	p.refuseTargets()
	result := p.run("", "create", "late", "--from-kubeconfig", planOf(t, p.APIServer).file(t))
	if result.Code == 0 || !strings.Contains(result.Stderr, "not today") || result.Stdout != "" {
		t.Errorf("exit code %d: %s%s", result.Code, result.Stdout, result.Stderr)
	}
	if made, secret := p.stored("late", "late-access"); made != nil || secret != nil {
		t.Errorf("there are a Target %v and a Secret %v", made != nil, secret != nil)
	}
}

// refuseTargets has the API server refuse new Targets, but not those of dry runs.
func (p place) refuseTargets() {
	p.Helper()
	meta := metav1.ObjectMeta{Name: "no-targets-in-" + p.Namespace}
	targets := admissionv1.Rule{
		APIGroups: []string{lsv1alpha1.GroupName}, APIVersions: []string{"*"}, Resources: []string{"targets"},
	}
	p.Create(
		&admissionv1.ValidatingAdmissionPolicy{ObjectMeta: meta, Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: p.Namespace}},
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create}, Rule: targets,
				}}},
			},
			Validations: []admissionv1.Validation{{Expression: "has(request.dryRun) && request.dryRun", Message: "not today"}},
		}},
		&admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: meta, Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: meta.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		}},
	)
	// The API server follows policies by a watch.
	if err := wait.PollUntilContextTimeout(p.Context(), 50*time.Millisecond, testkit.Patience, true, func(ctx context.Context) (bool, error) {
		probe := testkit.Target(p.Namespace, "").Build()
		probe.GenerateName = "probe-"
		err := p.Client().Create(ctx, probe)
		return apierrors.IsInvalid(err) || apierrors.IsForbidden(err), nil
	}); err != nil {
		p.Fatalf("the policy has no effect: %v", err)
	}
}

// What --dry-run prints with --show-secrets can be applied; a kubeconfig may come from standard input, and go into the Target itself.
func TestCreateInOtherWays(t *testing.T) {
	p := place{testkit.NewWorld(t)}
	text := planOf(t, p.APIServer).text(t)
	result := p.run(text, "create", "applied", "--from-kubeconfig", "-", "--dry-run=client", "-o", "yaml", "--show-secrets")
	for document := range strings.SplitSeq(result.Stdout, "---\n") {
		// The namespace is hidden in what a test sees.
		document = strings.ReplaceAll(strings.ReplaceAll(document, "<namespace>", p.Namespace), "<server>", p.Config().Host)
		object := client.Object(&lsv1alpha1.Target{})
		if strings.Contains(document, "kind: Secret") {
			object = &corev1.Secret{}
		}
		if err := yaml.UnmarshalStrict([]byte(document), object); err != nil {
			t.Fatalf("%v:\n%s", err, document)
		}
		p.Create(object)
	}
	if result = p.run(text, "create", "inline", "--from-kubeconfig", "-", "--inline", "-o", "name"); result.Code != 0 ||
		result.Stdout != "target.landscaper.gardener.cloud/inline\n" {
		t.Errorf("exit code %d: %s%s", result.Code, result.Stdout, result.Stderr)
	}
	p.Create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: "deployer"}})
	if result = p.run("", "create", "here", "--self", "--service-account", "deployer"); result.Code != 0 {
		t.Errorf("exit code %d: %s", result.Code, result.Stderr)
	}
	if result = p.run("", "create", "here-2", "--self", "--service-account", "deployer", "--dry-run=client", "-o", "yaml"); !strings.Contains(result.Stdout, "name: deployer") {
		t.Errorf("the account is hidden: %s", result.Stdout)
	}
	checked := p.check("--all")
	if checked.code != 0 || len(checked.Targets) != 3 {
		t.Fatalf("exit code %d: %+v", checked.code, checked)
	}
	ofThisRun := cmpopts.IgnoreFields(one{}, "Version", "Expires", "Expiring", "ExitCode", "Findings")
	for i, want := range []one{
		{Name: "applied", Status: "ok", Rights: "all"}, {Name: "here", Status: "ok", Rights: "limited", ServiceAccount: "deployer"},
		{Name: "inline", Status: "ok", Rights: "all"},
	} {
		got := checked.Targets[i]
		want.Reached = true
		if diff := cmp.Diff(want, got, ofThisRun); diff != "" {
			t.Errorf("the check of target %s (-want +got):\n%s", want.Name, diff)
		}
	}
}

// What no Target can have is refused before anything is written, with what to do, and without a value.
func TestKubeconfigsThatAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		change func(plan)
		args   []string
		want   []string
	}{
		"a command": {
			func(p plan) { p.AuthInfos["me"].Exec = &clientcmdapi.ExecConfig{Command: planted, APIVersion: "v1"} }, nil,
			[]string{"user.exec is rejected", "kubectl --context main create token"},
		},
		"a plug-in": {
			func(p plan) { p.AuthInfos["me"].AuthProvider = &clientcmdapi.AuthProviderConfig{Name: "gcp"} }, nil,
			[]string{"auth-provider is rejected", "create token"},
		},
		"a file of certificates": {
			func(p plan) { p.Clusters["here"].CertificateAuthority = "/ca.crt" }, nil,
			[]string{"certificate-authority is rejected", "--flatten --context main | espalier target create x --from-kubeconfig - -n shops"},
		},
		"a file with the token": {
			func(p plan) { p.AuthInfos["me"].TokenFile = "/token" }, nil, []string{"tokenFile is rejected", "into token"},
		},
		"no verification": {
			func(p plan) { p.Clusters["here"].InsecureSkipTLSVerify = true }, nil, []string{"insecure-skip-tls-verify is rejected", "docs/targets.md"},
		},
		"no current context": {func(p plan) { p.CurrentContext = "" }, nil, []string{"no current context", "--from-context: main, other"}},
		"a typo":             {func(plan) {}, []string{"--from-context=mian"}, []string{`no context "mian"`, "--from-context: main, other"}},
		"nothing":            {func(p plan) { *p.Config = *clientcmdapi.NewConfig() }, nil, []string{"current-context is missing"}},
		"two sources":        {func(plan) {}, []string{"--self", "--service-account=x"}, []string{"--self and --from-kubeconfig exclude each other"}},
		"two places":         {func(plan) {}, []string{"--inline", "--secret=x"}, []string{"exclude each other"}},
		"no such dry run":    {func(plan) {}, []string{"--dry-run=both"}, []string{"none, client, server"}},
		"no such format":     {func(plan) {}, []string{"-o", "table"}, []string{"text, yaml, json, name"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := planFor("https://api.example.com", nil, planted)
			test.change(p)
			args := append([]string{"create", "x", "-n", "shops", "--from-kubeconfig", p.file(t), "--dry-run=client"}, test.args...)
			result := clitest.RunAlone(t, clitest.Call{Command: target.New, Args: args})
			if result.Code != cli.ExitError || result.Stdout != "" || strings.Contains(result.Stderr, planted) {
				t.Errorf("exit code %d:\n%s%s", result.Code, result.Stdout, result.Stderr)
			}
			for _, want := range test.want {
				if !strings.Contains(result.Stderr, want) {
					t.Errorf("it does not say %q: %s", want, result.Stderr)
				}
			}
		})
	}
	for want, args := range map[string][]string{
		"cannot be the name of a Target":    {"create", "No Name", "--self", "--service-account=x"},
		"--from-kubeconfig FILE, or --self": {"create", "x"},
		"--self needs --service-account":    {"create", "x", "--self"},
		"goes with --self":                  {"create", "x", "--from-kubeconfig=f", "--service-account=x"},
		"--self needs no credential":        {"create", "x", "--self", "--service-account=x", "--inline"},
		"no such file":                      {"create", "x", "--from-kubeconfig=/nowhere/at/all"},
		"--all":                             {"check"},
		"do not go together":                {"check", "x", "-A"},
		"some time to answer":               {"check", "x", "--timeout=0s"},
	} {
		if result := clitest.RunAlone(t, clitest.Call{Command: target.New, Args: args}); result.Code != cli.ExitError ||
			!strings.Contains(result.Stderr, want) {
			t.Errorf("%v ends with %d: %s", args, result.Code, result.Stderr)
		}
	}
}

// one is what -o json says about a Target.
type one struct {
	Name, Status, Version, Rights, Expires, Expiring, ServiceAccount string

	Reached  bool
	ExitCode int
	Findings []struct {
		Level, Message string
		Next           []string
	}
}

type checks struct {
	Targets []one
	code    int
}

func (p place) check(args ...string) checks {
	p.Helper()
	result := p.run("", append([]string{"check", "--timeout=3m", "--system-namespace=" + p.Namespace, "-o", "json"}, args...)...)
	checked := checks{code: result.Code}
	if err := json.Unmarshal([]byte(result.Stdout), &checked); err != nil {
		p.Fatalf("%v: %s%s", err, result.Stdout, result.Stderr)
	}
	return checked
}

// allow gives a user a right in the namespace.
func (p place) allow(user string, rule rbacv1.PolicyRule) {
	p.Helper()
	meta := metav1.ObjectMeta{Namespace: p.Namespace, Name: user}
	p.Create(&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{rule}}, &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	})
}

// The exit code tells a cluster that is down from a Target that somebody has to change and from one that does not exist.
func TestChecksEndAsTheirTargetsAre(t *testing.T) {
	p := place{testkit.NewWorld(t)}
	revoked := planOf(t, p.APIServer)
	revoked.AuthInfos["me"] = &clientcmdapi.AuthInfo{Token: planted}
	refused := planFor("https://api.example.com", nil, planted)
	refused.AuthInfos["me"].TokenFile = "/token"
	for name, kubeconfig := range map[string]plan{
		"good": planOf(t, p.APIServer), "down": planFor("https://127.0.0.1:1", nil, planted), "revoked": revoked, "refused": refused,
	} {
		p.Create(testkit.Target(p.Namespace, name).Kubeconfig(kubeconfig.text(t)).Build())
	}
	p.Create(
		testkit.Target(p.Namespace, "lost").Secret("none", "kubeconfig").Build(),
		testkit.Target(p.Namespace, "bucket").Type("example.com/bucket").Config(map[string]any{"password": planted}).Build(),
	)
	for names, want := range map[string]struct {
		code    int
		status  string
		message string
	}{
		"good": {cli.ExitOK, "ok", ""}, "down": {cli.ExitTimeout, "warning", "cannot reach"},
		"revoked": {cli.ExitNeedsSomebody, "error", "rejects"}, "refused": {cli.ExitNeedsSomebody, "error", "tokenFile is rejected"},
		"lost": {cli.ExitNeedsSomebody, "error", "does not exist"}, "down good": {cli.ExitTimeout, "warning", "cannot reach"},
	} {
		checked := p.check(strings.Fields(names)...)
		got := checked.Targets[0]
		if checked.code != want.code || got.Status != want.status || want.message == "" != (len(got.Findings) == 0) ||
			want.message != "" && (!strings.Contains(got.Findings[0].Message, want.message) || len(got.Findings[0].Next) == 0) {
			t.Errorf("of %s it is said, with exit code %d: %+v", names, checked.code, got)
		}
	}
	if checked := p.check("--all"); checked.code != cli.ExitNeedsSomebody || len(checked.Targets) != 5 {
		t.Errorf("of all it is said, with exit code %d: %+v", checked.code, checked)
	}
	table := p.run("", "check", "good", "revoked", "--timeout=3m")
	if !strings.Contains(table.Stdout, "NAME      STATUS   VERSION") ||
		!strings.Contains(table.Stdout, "\nNext for revoked:\n  put a new one") {
		t.Errorf("the table:\n%s%s", table.Stdout, table.Stderr)
	}

	p.allow("reader", rbacv1.PolicyRule{APIGroups: []string{lsv1alpha1.GroupName}, Resources: []string{"targets"}, Verbs: []string{"get"}})
	if checked := p.check("good", "lost", "--as=reader"); checked.code != cli.ExitNotFound || checked.Targets[0].ExitCode != 0 {
		t.Errorf("who may not read Secrets is told, with exit code %d: %+v", checked.code, checked)
	}
	for args, want := range map[string]string{
		"nowhere": "target nowhere does not exist", "good --as=nobody": "cannot read target good", "--all --as=nobody": "cannot list Targets",
	} {
		if result := p.run("", append([]string{"check"}, strings.Fields(args)...)...); result.Code != cli.ExitNotFound ||
			!strings.Contains(result.Stderr, want) {
			t.Errorf("check %s ends with %d: %s", args, result.Code, result.Stderr)
		}
	}
	if result := p.run("", "check", "bucket"); result.Code != cli.ExitError || !strings.Contains(result.Stderr, "is of type example.com/bucket") {
		t.Errorf("exit code %d: %s", result.Code, result.Stderr)
	}
}
