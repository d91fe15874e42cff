// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations_test

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/archive"
	"espalier.dev/internal/catalog"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/oci"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/components"
	"espalier.dev/internal/testkit/registry"
)

const registryPassword = "the-w0rd-of-the-registry"

// stocked is a registry with a password and a private certificate authority; the Context of the world refers to it.
func (w *world) stocked() (*registry.Registry, oci.Store) {
	w.Helper()
	server := registry.Start(w.T, registry.Options{TLS: true, Username: "robot", Password: registryPassword})
	host, port, _ := strings.Cut(server.Host, ":")
	w.create(
		w.pullSecret(`{type: credentials.config.ocm.software, consumers: [{identity: {type: OCIRegistry, hostname: "`+host+`", port: "`+port+`"},
			credentials: [{type: Credentials, properties: {username: robot, password: `+registryPassword+`, certificateAuthority: "`+
			strings.ReplaceAll(string(server.CA), "\n", "\\n")+`"},}]}]}`),
		w.contextTo(server.URL),
	)
	return server, components.Store(w.T, server, oci.Credential{Username: "robot", Password: registryPassword})
}

func (w *world) pullSecret(config string) *corev1.Secret {
	secret := &corev1.Secret{StringData: map[string]string{".ocmcredentialconfig": config}}
	secret.Namespace, secret.Name = w.namespace, "pull"
	return secret
}

func (w *world) contextTo(url string) *lsv1alpha1.Context {
	c := &lsv1alpha1.Context{}
	c.Namespace, c.Name = w.namespace, "shelf"
	c.RepositoryContext = &lsv1alpha1.AnyJSON{Raw: []byte(`{"type":"ociRegistry","baseUrl":"` + url + `"}`)}
	c.RegistryPullSecrets = []lsv1alpha1.LocalObjectReference{{Name: "pull"}}
	return c
}

const shopBlueprint = header + `
subinstallations:
- file: /part.yaml
exports:
- {name: word, type: data, schema: {}}
exportExecutions:
- name: default
  type: GoTemplate
  template: |
    exports: {word: {{ .cd.component.version }}}
`

const partInstallation = `
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: InstallationTemplate
name: part
blueprint: {ref: cd://componentReferences/part/resources/blueprint}
`

func shop(t *testing.T, version string) components.Component {
	return components.Component{
		Name: "example.com/shop", Version: version,
		Resources: []components.Resource{components.Blueprint(t, "blueprint", map[string]string{
			"blueprint.yaml": shopBlueprint, "part.yaml": partInstallation,
		})},
		References: []components.Component{{
			Name: "example.com/part", Version: version,
			Resources: []components.Resource{components.Blueprint(t, "blueprint", map[string]string{"blueprint.yaml": header + deploy(item("one"))})},
		}},
	}
}

// A tree whose blueprints are in components of a private registry is installed; each blob is fetched once.
func TestJOB20_BlueprintsComeFromAPrivateRegistry(t *testing.T) {
	w := newWorld(t)
	server, store := w.stocked()
	shop(t, "1.0.0").Push(t, store)
	for _, name := range []string{"app", "again"} {
		inst := testkit.Installation(w.namespace, name).BlueprintRef("blueprint").Component("example.com/shop", "1.0.0").
			Context("shelf").ExportData("word", name).Reconcile().Build()
		w.create(inst)
		w.finished(name, lsv1alpha1.PhaseSucceeded)
	}
	var items lsv1alpha1.DeployItemList
	if err := w.cluster.List(t.Context(), &items, client.InNamespace(w.namespace)); err != nil {
		t.Fatal(err)
	}
	if len(items.Items) != 2 {
		t.Errorf("%d deploy items, want one for each part", len(items.Items))
	}
	fetched := map[string]int{}
	for _, request := range server.Requests() {
		if strings.HasPrefix(request, "GET ") {
			fetched[strings.TrimPrefix(request, "GET /v2/component-descriptors/example.com/")]++
		}
	}
	for request, times := range fetched {
		want := 1
		switch request {
		case "shop/manifests/1.0.0": // by each of two jobs, and the first one is asked for credentials
			want = 3
		case "part/manifests/1.0.0": // by each of the parts, and by the first shop
			want = 3
		}
		if times != want {
			t.Errorf("%d times, want %d: %s", times, want, request)
		}
	}
}

// A version that is pushed again, as authors do during development, takes effect from the next job on.
func TestAComponentIsPushedAgain(t *testing.T) {
	w := newWorld(t)
	_, store := w.stocked()
	push := func(item string) {
		components.Component{
			Name: "example.com/draft", Version: "0.1.0",
			Resources: []components.Resource{components.Blueprint(t, "blueprint", map[string]string{"blueprint.yaml": header + deploy(item)})},
		}.Push(t, store)
	}
	push(item("before"))
	w.create(testkit.Installation(w.namespace, "app").BlueprintRef("blueprint").Component("example.com/draft", "0.1.0").
		Context("shelf").Reconcile().Build())
	first := w.finished("app", lsv1alpha1.PhaseSucceeded)
	push(item("after"))
	w.operate("app", lsv1alpha1.OperationReconcile)
	w.finishedAfter("app", first.Status.JobID)
	if diff := cmp.Diff([]string{"after"}, slices.Sorted(maps.Keys(w.items()))); diff != "" {
		t.Error(diff)
	}
}

// An installation that gets another component than the one it names reports that in a condition, until both are the same.
func TestOverwrittenComponentsAreReported(t *testing.T) {
	w := newWorld(t)
	server := registry.Start(t, registry.Options{})
	shop(t, "2.0.0").Push(t, components.Store(t, server, oci.Credential{}))
	shelf := w.contextTo(server.URL)
	shelf.RegistryPullSecrets, shelf.ComponentVersionOverwritesReference = nil, "pins"
	pins := &lsv1alpha1.ComponentVersionOverwrites{Overwrites: []lsv1alpha1.ComponentVersionOverwrite{{
		Source:       lsv1alpha1.ComponentVersionOverwriteReference{ComponentName: "example.com/shop", Version: "1.0.0"},
		Substitution: lsv1alpha1.ComponentVersionOverwriteReference{Version: "2.0.0"},
	}}}
	pins.Namespace, pins.Name = w.namespace, "pins"
	w.create(shelf, pins)
	app := testkit.Installation(w.namespace, "app").BlueprintRef("blueprint").Component("example.com/shop", "1.0.0").Context("shelf")
	w.create(app.Reconcile().Build())
	first := w.finished("app", lsv1alpha1.PhaseSucceeded)
	steady := testkit.Installation(w.namespace, "steady").BlueprintRef("blueprint").Component("example.com/shop", "1.0.0").Context("shelf")
	w.create(steady.Continuous().Build())
	second := w.eventually("steady", "installed", func(i *lsv1alpha1.Installation) bool { return i.Status.Phase == lsv1alpha1.PhaseSucceeded })
	for _, inst := range []*lsv1alpha1.Installation{first, second} {
		want := "True FoundOverwrite: version: 1.0.0 -> 2.0.0"
		if diff := cmp.Diff(want, saying(inst, lsv1alpha1.ConditionComponentReferenceOverwrite)); diff != "" {
			t.Errorf("%s: the condition (-want +got):\n%s", inst.Name, diff)
		}
	}
	w.change("app", func(spec *lsv1alpha1.InstallationSpec) { spec.ComponentDescriptor.Reference.Version = "2.0.0" })
	w.request("app")
	w.eventually("app", "as it is named", func(i *lsv1alpha1.Installation) bool {
		return i.Status.IsFinished() && condition(i, lsv1alpha1.ConditionComponentReferenceOverwrite).Type == ""
	})
}

// A blueprint that the registry rejects is awaited, and the status says why, without credentials.
func TestJOB30_ARegistryThatRefusesIsAwaited(t *testing.T) {
	w := newWorld(t)
	_, store := w.stocked()
	secret := w.pullSecret("")
	w.get(secret)
	good := secret.Data[".ocmcredentialconfig"]
	w.patch(secret, `{"data":{".ocmcredentialconfig":"`+base64.StdEncoding.EncodeToString(
		[]byte(strings.ReplaceAll(string(good), registryPassword, "wr0ng-and-not-told")))+`"}}`)
	shop(t, "1.0.0").Push(t, store)
	w.create(testkit.Installation(w.namespace, "app").BlueprintRef("blueprint").Component("example.com/shop", "1.0.0").
		Context("shelf").Reconcile().Build())
	waiting := w.eventually("app", "with an error", func(i *lsv1alpha1.Installation) bool { return i.Status.LastError != nil })
	message := waiting.Status.LastError.Message
	if !strings.Contains(message, "spec.componentDescriptor") || strings.Contains(message, "wr0ng") {
		t.Errorf("lastError = %+v", waiting.Status.LastError)
	}
	if waiting.Status.IsFinished() {
		t.Error("the job has ended, although the Secret may be corrected")
	}
	w.patch(secret, `{"data":{".ocmcredentialconfig":"`+base64.StdEncoding.EncodeToString(good)+`"}}`)
	w.finished("app", lsv1alpha1.PhaseSucceeded)
}

// If the installation requires it, a component must be signed by a signer that the Context trusts.
func TestJOB20_ASignatureIsChecked(t *testing.T) {
	w := newWorld(t)
	server := registry.Start(t, registry.Options{})
	trusted, other := newKey(t), newKey(t)
	publish := func(version string, key *rsa.PrivateKey) {
		components.Component{
			Name: "example.com/signed", Version: version, Key: key,
			Resources: []components.Resource{components.Blueprint(t, "blueprint", map[string]string{"blueprint.yaml": header + deploy(item("one"))})},
		}.Push(t, components.Store(t, server, oci.Credential{}))
	}
	publish("1.0.0", trusted)
	publish("2.0.0", other)
	publish("3.0.0", nil)
	keys := &corev1.Secret{StringData: map[string]string{"key": components.PublicKey(t, trusted)}}
	keys.Namespace, keys.Name = w.namespace, "keys"
	shelf := w.contextTo(server.URL)
	shelf.RegistryPullSecrets = nil
	shelf.VerificationSignatures = map[string]lsv1alpha1.VerificationSignature{components.SignatureName: {
		PublicKeySecretReference: &lsv1alpha1.SecretReference{
			ObjectReference: lsv1alpha1.ObjectReference{Name: keys.Name, Namespace: w.namespace},
			Key:             "key",
		},
	}}
	w.create(keys, shelf)
	for version, want := range map[string]string{
		"1.0.0": "",
		"2.0.0": "was not made with the trusted key",
		"3.0.0": "is not signed",
	} {
		name := "app-" + version[:1]
		inst := testkit.Installation(w.namespace, name).BlueprintRef("blueprint").Component("example.com/signed", version).
			Context("shelf").Reconcile().Build()
		inst.Spec.Verification = &lsv1alpha1.Verification{SignatureName: components.SignatureName}
		w.create(inst)
		if want == "" {
			w.finished(name, lsv1alpha1.PhaseSucceeded)
			continue
		}
		failed := w.finished(name, lsv1alpha1.PhaseFailed)
		if message := failed.Status.LastError.Message; !strings.Contains(message, want) || !strings.Contains(message, "spec.verification") {
			t.Errorf("%s: lastError = %s, want the field and %q in it", version, message, want)
		}
	}
	if items := w.items(); len(items) != 1 {
		t.Errorf("%d deploy items, want that of the signed component alone", len(items))
	}
}

// The author of a Context cannot use the Secrets of others through it.
func TestJOB20_KeysOfOtherNamespacesAreRefused(t *testing.T) {
	w := newWorld(t)
	server := registry.Start(t, registry.Options{})
	shelf := w.contextTo(server.URL)
	shelf.RegistryPullSecrets = nil
	shelf.VerificationSignatures = map[string]lsv1alpha1.VerificationSignature{components.SignatureName: {
		PublicKeySecretReference: &lsv1alpha1.SecretReference{
			ObjectReference: lsv1alpha1.ObjectReference{Name: "keys", Namespace: "kube-system"},
			Key:             "key",
		},
	}}
	inst := testkit.Installation(w.namespace, "app").BlueprintRef("blueprint").Component("example.com/signed", "1.0.0").
		Context("shelf").Reconcile().Build()
	inst.Spec.Verification = &lsv1alpha1.Verification{SignatureName: components.SignatureName}
	w.create(shelf, inst)
	w.complains("app", "publicKeySecretReference: the Secret is in namespace kube-system, but only those of namespace "+w.namespace+" may be used")
}

// An operator can require that nothing is installed without a signature check, or disable all checks.
func TestWhoseSignaturesAreChecked(t *testing.T) {
	const missing, unsigned = "spec.verification is missing", "the blueprint is not a resource of the component, so it is not signed"
	for policy, cases := range map[catalog.VerificationPolicy][]signedCase{
		catalog.VerifyAlways: {
			{name: "asks", asks: true, signed: true},
			{name: "nests", asks: true, signed: true, nests: true},
			{name: "has-its-own", asks: true, signed: true, own: true, refused: unsigned},
			{name: "does-not-ask", signed: true, refused: missing},
			{name: "has-no-component", inline: true, refused: missing},
		},
		catalog.VerifyIfAsked: {
			{name: "does-not-ask"},
			{name: "asks-in-vain", asks: true, refused: "is not signed"},
			{name: "nests", asks: true, signed: true, nests: true},
			{name: "has-its-own", asks: true, signed: true, own: true, refused: unsigned},
			{name: "has-no-component", asks: true, inline: true, refused: "has no component, so there is no signature to check"},
		},
		catalog.VerifyNever: {{name: "asks-in-vain", asks: true}},
	} {
		t.Run(string(policy), func(t *testing.T) {
			w := idleWorld(t)
			w.Options.Registries.Verification = string(policy)
			w.Manage()
			for _, c := range cases {
				w.create(c.objects(t, w)...)
				if c.refused == "" {
					w.finished(c.name, lsv1alpha1.PhaseSucceeded)
				} else if got := w.finished(c.name, lsv1alpha1.PhaseFailed).Status.LastError.Message; !strings.Contains(got, c.refused) {
					t.Errorf("%s: lastError = %s, want %q in it", c.name, got, c.refused)
				}
			}
		})
	}
}

// signedCase is an installation with or without a signature check, of a component with or without a signature, or of no component.
type signedCase struct {
	name                 string
	asks, signed, inline bool
	// own says that the blueprint is inline next to the component; nests says that the component's blueprint has nested installations.
	own, nests bool
	refused    string
}

// files returns a blueprint that nests an inline one, which in turn nests one of the component.
func (c signedCase) files() map[string]string {
	if !c.nests {
		return map[string]string{"blueprint.yaml": header}
	}
	nested := func(name, blueprint string) string {
		return header + "subinstallations:\n- apiVersion: landscaper.gardener.cloud/v1alpha1\n  kind: InstallationTemplate\n  name: " + name +
			"\n  blueprint: " + blueprint + "\n"
	}
	part := nested("leaf", "{ref: cd://resources/leaf}")
	return map[string]string{"blueprint.yaml": nested("part", "{filesystem: {blueprint.yaml: "+strconv.Quote(part)+"}}")}
}

func (c signedCase) objects(t *testing.T, w *world) []client.Object {
	t.Helper()
	signer := newKey(t)
	published := components.Component{
		Name: "example.com/signed", Version: "1.0.0",
		Resources: []components.Resource{
			components.Blueprint(t, "blueprint", c.files()),
			components.Blueprint(t, "leaf", map[string]string{"blueprint.yaml": header}),
		},
	}
	if c.signed {
		published.Key = signer
	}
	server := registry.Start(t, registry.Options{})
	published.Push(t, components.Store(t, server, oci.Credential{}))
	keys := &corev1.Secret{StringData: map[string]string{"key": components.PublicKey(t, signer)}}
	keys.Namespace, keys.Name = w.namespace, c.name
	shelf := w.contextTo(server.URL)
	shelf.Name, shelf.RegistryPullSecrets = c.name, nil
	shelf.VerificationSignatures = map[string]lsv1alpha1.VerificationSignature{components.SignatureName: {
		PublicKeySecretReference: &lsv1alpha1.SecretReference{
			ObjectReference: lsv1alpha1.ObjectReference{Name: c.name, Namespace: w.namespace}, Key: "key",
		},
	}}
	inst := testkit.Installation(w.namespace, c.name).BlueprintRef("blueprint").Component("example.com/signed", "1.0.0").
		Context(c.name).Reconcile().Build()
	if c.inline {
		inst = w.installation(c.name, header).Reconcile().Build()
	}
	if c.own {
		// Users who can write installations can write this as well, and it does not help them.
		inst.Spec.Blueprint = w.installation(c.name, header).Build().Spec.Blueprint
		inst.Annotations = map[string]string{
			lsv1alpha1.OperationAnnotation: string(lsv1alpha1.OperationReconcile), installation.SealAnnotation: strings.Repeat("0", 64),
		}
	}
	if c.asks {
		inst.Spec.Verification = &lsv1alpha1.Verification{SignatureName: components.SignatureName}
	}
	return []client.Object{keys, shelf, inst}
}

func newKey(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// A blueprint may be a separate artifact. The job finishes with what its tag meant when the job started.
func TestABlueprintIsAnArtifact(t *testing.T) {
	w := newWorld(t)
	server := registry.Start(t, registry.Options{})
	store := components.Store(t, server, oci.Credential{})
	first := pushBlueprint(t, store, header+deploy(item("one", endless))+exports("word: one", "word"))
	inst := testkit.Installation(w.namespace, "app").ExportData("word", "word").Reconcile().Build()
	inst.Spec.Blueprint = lsv1alpha1.BlueprintDefinition{OCI: &lsv1alpha1.OCIBlueprint{Reference: server.URL + "/team/shop:1"}}
	w.create(inst)
	w.executing("app")
	pushBlueprint(t, store, header+deploy(item("one", endless))+exports("word: two", "word"))
	w.finishItems("app")
	done := w.finished("app", lsv1alpha1.PhaseSucceeded)
	if done.Status.BlueprintRevision != first || w.exported() != `"one"` {
		t.Errorf("revision %s exported %s, want %s and one", done.Status.BlueprintRevision, w.exported(), first)
	}
}

// pushBlueprint stores a blueprint under the tag 1, and returns the digest of the artifact.
func pushBlueprint(t *testing.T, store oci.Store, text string) string {
	t.Helper()
	content, err := archive.Tar(archive.Files{"blueprint.yaml": []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	layer, err := store.PushBlob(t.Context(), "team/shop", "application/vnd.gardener.landscaper.blueprint.v1+tar", content)
	if err != nil {
		t.Fatal(err)
	}
	config, err := store.PushBlob(t.Context(), "team/shop", "application/vnd.gardener.landscaper.blueprint.config.v1", []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	manifest := oci.NewManifest(oci.MediaTypeManifest, []byte(`{"schemaVersion":2,"mediaType":"`+oci.MediaTypeManifest+`","config":{"mediaType":"`+
		`application/vnd.gardener.landscaper.blueprint.config.v1","digest":"`+config.Digest.String()+`","size":2},"layers":[{"mediaType":"`+
		`application/vnd.gardener.landscaper.blueprint.v1+tar","digest":"`+layer.Digest.String()+`","size":`+strconv.FormatInt(layer.Size, 10)+`}]}`))
	if err := store.PushManifest(t.Context(), "team/shop", "1", manifest); err != nil {
		t.Fatal(err)
	}
	return manifest.Digest.String()
}
