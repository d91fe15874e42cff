// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/google/go-cmp/cmp"

	"espalier.dev/internal/archive"
	"espalier.dev/internal/artifact"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/component/credentials"
	"espalier.dev/internal/dial"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/lru"
	"espalier.dev/internal/oci"
	"espalier.dev/internal/testkit/clitest"
	"espalier.dev/internal/testkit/components"
	"espalier.dev/internal/testkit/gitserver"
	"espalier.dev/internal/testkit/registry"
)

const (
	username = "reader"
	password = "open-sesame-43"
)

// outsideShop is a component whose blueprint has a nested installation that is a component of its own.
func outsideShop(t testing.TB) components.Component {
	database := components.Component{
		Name: "example.com/database", Version: "2.0.0",
		Resources: []components.Resource{components.Blueprint(t, "blueprint", map[string]string{"blueprint.yaml": deploys("postgres")})},
	}
	return components.Component{
		Name: "example.com/shop", Version: "1.0.0",
		Resources: []components.Resource{components.Blueprint(t, "blueprint", map[string]string{"blueprint.yaml": deploys("web") + `
subinstallations:
- {name: database, blueprint: {ref: cd://componentReferences/database/resources/blueprint}}
`})},
		References: []components.Component{database},
	}
}

// deploys is a blueprint with one deploy item.
func deploys(item string) string {
	return fmt.Sprintf("deployExecutions: [{name: d, type: Spiff, template: {deployItems: [{name: %s, type: t, config: {apiVersion: example.com/v1, kind: Configuration}}]}}]", item)
}

const shopInstallation = header + `kind: Installation
metadata: {name: shop}
spec:
  componentDescriptor: {ref: {componentName: example.com/shop, version: 1.0.0}}
  blueprint: {ref: {resourceName: blueprint}}
`

// contextAt is a Context whose components are in a repository.
func contextAt(repository string, more ...string) string {
	return header + "kind: Context\nmetadata: {name: default}\nrepositoryContext: " + repository + "\n" + strings.Join(more, "\n") + "\n"
}

func inRegistry(url string) string { return fmt.Sprintf("{type: OCIRegistry, baseUrl: %q}", url) }

// renderIn runs the command on files that has files, as somebody without a home.
func renderIn(t testing.TB, files map[string]string, args ...string) clitest.Result {
	t.Helper()
	folder := t.TempDir()
	all := []string{}
	for name, content := range files {
		file := filepath.Join(folder, name)
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		all = append(all, "-f", file)
	}
	command := func(env cli.Environment) *cobra.Command { return New(env, nil) }
	return clitest.RunAlone(t, clitest.Call{Command: command, Args: append(all, args...)})
}

// filled is a registry that has the shop.
func filled(t testing.TB, options registry.Options) *registry.Registry {
	t.Helper()
	server := registry.Start(t, options)
	outsideShop(t).Push(t, components.Store(t, server, oci.Credential{Username: options.Username, Password: options.Password}))
	return server
}

// What is rendered does not depend on where the component comes from.
func TestComponentsFromOutside(t *testing.T) {
	server := filled(t, registry.Options{})
	t.Chdir(t.TempDir())
	for _, name := range []string{"directory", "archive.tar", "archive.tgz"} {
		components.Archive(t, name, outsideShop(t))
	}
	inContext := map[string]string{"inst.yaml": shopInstallation, "context.yaml": contextAt(inRegistry(server.URL))}
	for _, recursive := range []bool{false, true} {
		flags := []string{}
		if recursive {
			flags = append(flags, "--recursive")
		}
		want := renderIn(t, inContext, flags...)
		if want.Code != 0 || want.Stderr != "" || strings.Contains(want.Stdout, "name: postgres") != recursive || !strings.Contains(want.Stdout, "name: web") {
			t.Fatalf("from a registry: %+v", want)
		}
		asked := len(server.Requests())
		for _, name := range []string{"directory", "archive.tar", "archive.tgz"} {
			got := renderIn(t, inContext, append(flags, "--components", name)...)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("--components %s (-registry +archive):\n%s", name, diff)
			}
			there := fmt.Sprintf("{type: CommonTransportFormat, filePath: %s}", name)
			got = renderIn(t, map[string]string{"inst.yaml": shopInstallation, "context.yaml": contextAt(there)}, flags...)
			// Nested installations name the repository of their parent.
			elsewhere := strings.NewReplacer("filePath: "+name, "baseUrl: "+server.URL, "type: CommonTransportFormat", "type: OCIRegistry")
			if diff := cmp.Diff(want.Stdout, elsewhere.Replace(got.Stdout)); diff != "" {
				t.Errorf("%s (-registry +archive):\n%s\n%s", name, diff, got.Stderr)
			}
		}
		if len(server.Requests()) != asked {
			t.Error("the registry was asked for what is in an archive")
		}
	}
	t.Run("named by the installation", func(t *testing.T) {
		inst := strings.Replace(shopInstallation, "version: 1.0.0}", "version: 1.0.0, repositoryContext: "+inRegistry(server.URL)+"}", 1)
		if got := renderIn(t, map[string]string{"inst.yaml": inst}); got.Code != 0 || !strings.Contains(got.Stdout, "name: web") {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a blueprint of the user counts more", func(t *testing.T) {
		if err := os.MkdirAll("mine", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("mine/blueprint.yaml", []byte(deploys("mine")), 0o600); err != nil {
			t.Fatal(err)
		}
		got := renderIn(t, inContext, "--blueprint", "example.com/shop//blueprint=mine")
		if got.Code != 0 || !strings.Contains(got.Stdout, "name: mine") || strings.Contains(got.Stdout, "name: web") {
			t.Errorf("%+v", got)
		}
	})
}

func TestDirectoryOfDescriptorsCountsMore(t *testing.T) {
	server := filled(t, registry.Options{})
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("descriptors/blueprint", 0o755); err != nil {
		t.Fatal(err)
	}
	descriptor := "meta: {schemaVersion: v2}\ncomponent: {name: example.com/shop, version: 1.0.0, resources: [{name: blueprint, type: blueprint, version: 1.0.0, access: {type: none}}]}"
	for name, text := range map[string]string{"component-descriptor.yaml": descriptor, "blueprint/blueprint.yaml": deploys("mine")} {
		if err := os.WriteFile(filepath.Join("descriptors", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	asked := len(server.Requests())
	files := map[string]string{"inst.yaml": shopInstallation, "context.yaml": contextAt(inRegistry(server.URL))}
	got := renderIn(t, files, "--components", "descriptors")
	if got.Code != 0 || !strings.Contains(got.Stdout, "name: mine") || len(server.Requests()) != asked {
		t.Errorf("%+v", got)
	}
	files["inst.yaml"] = strings.ReplaceAll(shopInstallation, "1.0.0", "3.0.0")
	got = renderIn(t, files, "--components", "descriptors")
	if got.Code != 1 || !strings.Contains(got.Stderr, "component not found among the 1 that are given") || len(server.Requests()) != asked {
		t.Errorf("%+v", got)
	}
}

func dockerConfig(host, password string) string {
	return fmt.Sprintf(`{"auths": {%q: {"auth": %q}}}`, host, base64.StdEncoding.EncodeToString([]byte(username+":"+password)))
}

// pullSecret is a Secret of the Context.
func pullSecret(config string) string {
	return "apiVersion: v1\nkind: Secret\nmetadata: {name: puller}\nstringData: {.dockerconfigjson: '" + config + "'}\n"
}

func TestCredentialsOfRender(t *testing.T) {
	server := filled(t, registry.Options{Username: username, Password: password})
	right := dockerConfig(server.Host, password)
	file := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(file, []byte(right), 0o600); err != nil {
		t.Fatal(err)
	}
	context := contextAt(inRegistry(server.URL), "registryPullSecrets: [{name: puller}]")
	const left = "Context default: registryPullSecrets[0]: Secret puller is not among the manifests, so it has no effect here"
	for name, test := range map[string]struct {
		secret string
		args   []string
		code   int
		want   string
	}{
		"of the Context":       {pullSecret(right), nil, 0, ""},
		"of the user":          {"", []string{"--registry-config", file}, 0, left},
		"of the user, too":     {pullSecret("{}"), []string{"--registry-config", file}, 0, "holds no credentials"},
		"of nobody":            {"", nil, 1, "docker login " + server.Host},
		"wrong in the Context": {pullSecret(dockerConfig(server.Host, "wrong-w0rd")), []string{"--registry-config", file}, 1, "the registry rejects the credentials"},
		"broken":               {pullSecret("{{"), nil, 1, "Context default: registryPullSecrets[0]: the Secret puller, key .dockerconfigjson: "},
		"no such file":         {"", []string{"--registry-config", "none.json"}, 1, "--registry-config: open none.json"},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"inst.yaml": shopInstallation, "context.yaml": context}
			if test.secret != "" {
				files["secret.yaml"] = test.secret
			}
			got := renderIn(t, files, test.args...)
			if got.Code != test.code || !strings.Contains(got.Stderr, test.want) || test.want == "" && got.Stderr != "" {
				t.Errorf("%+v", got)
			}
			if text := got.Stdout + got.Stderr; strings.Contains(text, password) || strings.Contains(text, "wrong-w0rd") {
				t.Errorf("it gives a password away: %s", text)
			}
		})
	}
}

// Who needs nothing from outside is not bothered with credentials.
func TestCredentialsDoNotMatterInside(t *testing.T) {
	got := renderIn(t, map[string]string{"inst.yaml": greeter, "word.yaml": word, "login.yaml": login}, "--registry-config", "none.json")
	if got.Code != 0 || got.Stderr != "" {
		t.Errorf("%+v", got)
	}
}

func TestSignaturesOfRender(t *testing.T) {
	key, public := components.NewKey(t)
	_, other := components.NewKey(t)
	signed := outsideShop(t)
	signed.Key, signed.References[0].Key = key, key
	// The signature covers what is inline in the blueprint.
	signed.Resources = []components.Resource{components.Blueprint(t, "blueprint", map[string]string{"blueprint.yaml": deploys("web") + `
subinstallations:
- {name: database, blueprint: {ref: cd://componentReferences/database/resources/blueprint}}
- {name: cache, blueprint: {filesystem: {blueprint.yaml: ` + fmt.Sprintf("%q", deploys("redis")) + `}}}
`})}
	server := registry.Start(t, registry.Options{})
	signed.Push(t, components.Store(t, server, oci.Credential{}))
	t.Chdir(t.TempDir())
	components.Archive(t, "archive.tgz", signed)
	inst := shopInstallation + "  verification: {signatureName: release}\n"
	context := contextAt(inRegistry(server.URL), "verificationSignatures: {release: {publicKeySecretReference: {name: key, key: pem}}}")
	secret := func(pem []byte) string {
		return "apiVersion: v1\nkind: Secret\nmetadata: {name: key}\ndata: {pem: " + base64.StdEncoding.EncodeToString(pem) + "}\n"
	}
	for name, test := range map[string]struct {
		files map[string]string
		args  []string
		code  int
		want  string
	}{
		"valid":            {map[string]string{"context.yaml": context, "key.yaml": secret(public)}, nil, 0, ""},
		"with nested ones": {map[string]string{"context.yaml": context, "key.yaml": secret(public)}, []string{"--recursive"}, 0, ""},
		"in an archive":    {map[string]string{"context.yaml": context, "key.yaml": secret(public)}, []string{"--components", "archive.tgz"}, 0, ""},
		"of somebody else": {map[string]string{"context.yaml": context, "key.yaml": secret(other)}, nil, 1, "spec.verification: "},
		"no key": {
			map[string]string{"context.yaml": context}, nil, 0,
			"warning: installation shop: spec.verification: the signature release was not checked: verificationSignatures.release.publicKeySecretReference: there is no Secret default/key with a key pem",
		},
		"nobody trusted": {
			map[string]string{"context.yaml": contextAt(inRegistry(server.URL))}, nil, 0,
			"warning: installation shop: spec.verification: the signature release was not checked: verificationSignatures.release is missing",
		},
		"no Context": {
			nil, []string{"--components", "archive.tgz"}, 0,
			"the signature release was not checked: its Context is not among the manifests",
		},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"inst.yaml": inst}
			for name, text := range test.files {
				files[name] = text
			}
			got := renderIn(t, files, test.args...)
			if got.Code != test.code || !strings.Contains(got.Stderr, test.want) || test.want == "" && got.Stderr != "" {
				t.Errorf("%+v", got)
			}
			if strings.Contains(got.Stdout, installation.SealAnnotation) {
				t.Errorf("it prints a seal, which no cluster takes for its own: %s", got.Stdout)
			}
		})
	}
}

// A blueprint on its own is read from a registry or from Git.
func TestBlueprintsFromOutside(t *testing.T) {
	server := registry.Start(t, registry.Options{})
	push(t, server.URL+"/team/shop:1.0.0", archive.Files{"blueprint.yaml": []byte(deploys("pushed"))})
	oneOf := func(blueprint string) string {
		return header + "kind: Installation\nmetadata: {name: shop}\nspec: {blueprint: " + blueprint + "}\n"
	}
	git := gitserver.Start(t)
	repository := git.Create(t, "team/blueprints", map[string]string{"shop/blueprint.yaml": deploys("committed")})
	login := fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: git}\nstringData: {username: %q, password: %q}\ndata: {caFile: %s}\n",
		git.Credentials().Username, git.Credentials().Password, base64.StdEncoding.EncodeToString(git.CA()))
	inGit := func(revision string) string {
		return fmt.Sprintf("{git: {url: %q, revision: %s, path: shop, secretRef: {name: git}}}", repository.URL, revision)
	}
	for name, test := range map[string]struct {
		files map[string]string
		code  int
		want  string
	}{
		"registry":    {map[string]string{"inst.yaml": oneOf("{oci: {reference: " + server.URL + "/team/shop:1.0.0}}")}, 0, "name: pushed"},
		"no such tag": {map[string]string{"inst.yaml": oneOf("{oci: {reference: " + server.URL + "/team/shop:2.0.0}}")}, 1, "spec.blueprint.oci: "},
		"git":         {map[string]string{"inst.yaml": oneOf(inGit(gitserver.Main)), "git.yaml": login}, 0, "name: committed"},
		"no revision": {map[string]string{"inst.yaml": oneOf(inGit("v9")), "git.yaml": login}, 1, `spec.blueprint.git: revision "v9" is neither a branch nor a tag`},
		"no Secret":   {map[string]string{"inst.yaml": oneOf(inGit(gitserver.Main))}, 1, "spec.blueprint.git: secretRef: Secret default/git does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			got := renderIn(t, test.files)
			if got.Code != test.code || !strings.Contains(got.Stdout+got.Stderr, test.want) {
				t.Errorf("%+v", got)
			}
			if strings.Contains(got.Stderr, gitserver.Password) {
				t.Errorf("it gives a password away: %s", got.Stderr)
			}
		})
	}
}

// push stores a blueprint.
func push(t *testing.T, reference string, files archive.Files) {
	t.Helper()
	registries, err := artifact.NewRegistries(artifact.RegistryOptions{
		Rules: dial.Rules{AllowLoopback: true}, CacheDirectory: t.TempDir(), CacheBytes: 1 << 20,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := registries.With(lru.Key{}, credentials.Config{}).PushBlueprint(t.Context(), reference, files); err != nil {
		t.Fatal(err)
	}
}

func TestErrorsFromOutsideSayWhatToDo(t *testing.T) {
	server := filled(t, registry.Options{})
	t.Chdir(t.TempDir())
	if err := os.WriteFile("notes.txt", []byte("no archive"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		inst, context string
		fault         registry.Fault
		args          []string
		want          string
	}{
		"no repository": {
			context: contextAt("null"),
			want: "set repositoryContext in the reference or in the Context, a resolver in its ocmConfig, or --default-repository-context; " +
				"give its descriptors, in a directory or an archive, with --components",
		},
		"no component": {
			inst: strings.ReplaceAll(shopInstallation, "1.0.0", "9.0.0"),
			want: "component example.com/shop:9.0.0 was not found",
		},
		"no blueprint": {
			inst: strings.ReplaceAll(shopInstallation, "resourceName: blueprint", "resourceName: none"),
			want: "spec.blueprint.ref.resourceName: ",
		},
		"no content":    {fault: registry.On("/blobs/", registry.Status(http.StatusNotFound)), want: "spec.componentDescriptor: "},
		"no such file":  {context: contextAt("{type: CommonTransportFormat, filePath: none.tgz}"), want: "repository context: filePath: open the archive: none.tgz: the file does not exist"},
		"a way out":     {context: contextAt("{type: CommonTransportFormat, filePath: ../x.tgz}"), want: "filePath: must lie in the directory"},
		"no archive":    {args: []string{"--components", "notes.txt"}, want: "--components notes.txt: open the archive: notes.txt: neither a directory nor a tar archive"},
		"no directory":  {args: []string{"--components", "none"}, want: "--components none: open none"},
		"no TLS":        {context: contextAt(inRegistry(server.Host)), want: "it does not support TLS: if that is intended, start its address with http://"},
		"another error": {fault: registry.Status(http.StatusBadGateway), want: "the registry fails (status 502)"},
	} {
		t.Run(name, func(t *testing.T) {
			server.Break(test.fault)
			defer server.Break(nil)
			files := map[string]string{"inst.yaml": shopInstallation, "context.yaml": contextAt(inRegistry(server.URL))}
			if test.inst != "" {
				files["inst.yaml"] = test.inst
			}
			if test.context != "" {
				files["context.yaml"] = test.context
			}
			got := renderIn(t, files, test.args...)
			if got.Code != 1 || got.Stdout != "" || !strings.Contains(got.Stderr, test.want) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// The flag of the controllers has the same meaning here: it is the last to say where components are.
func TestTheDefaultRepository(t *testing.T) {
	server := filled(t, registry.Options{})
	silent := map[string]string{"inst.yaml": shopInstallation}
	want := renderIn(t, map[string]string{"inst.yaml": shopInstallation, "context.yaml": contextAt(inRegistry(server.URL))})
	for _, text := range []string{server.URL, `{"type": "OCIRegistry", "baseUrl": "` + server.URL + `"}`} {
		got := renderIn(t, silent, "--default-repository-context", text)
		if diff := cmp.Diff(want, got); diff != "" || got.Code != 0 {
			t.Errorf("%s (-in the Context +by the flag):\n%s", text, diff)
		}
	}
	// The Context comes first, even if it does not have the component.
	empty := registry.Start(t, registry.Options{})
	named := map[string]string{"inst.yaml": shopInstallation, "context.yaml": contextAt(inRegistry(empty.URL))}
	for flag, said := range map[string]string{
		"":         "a resolver in its ocmConfig, or --default-repository-context",
		"{}":       "--default-repository-context: a repository context needs a type",
		server.URL: "component example.com/shop:1.0.0 was not found",
	} {
		files := silent
		if flag == server.URL {
			files = named
		}
		got := renderIn(t, files, "--default-repository-context", flag)
		if got.Code != 1 || !strings.Contains(got.Stderr, said) {
			t.Errorf("%q: %+v, want %q", flag, got, said)
		}
	}
}
