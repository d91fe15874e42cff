// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"espalier.dev/internal/oci"
	"espalier.dev/internal/testkit/clitest"
	"espalier.dev/internal/testkit/components"
	"espalier.dev/internal/testkit/registry"
)

const (
	username = "reader"
	password = "open-sesame-41"
)

// shop is a component with a blueprint, and with two more below it that share a third one.
func shop(t testing.TB) components.Component {
	base := components.Component{
		Name: "example.com/base", Version: "0.5.0",
		Resources: []components.Resource{{Name: "licence", Type: "text", MediaType: "text/plain", Content: []byte("do what you like\n")}},
	}
	web := components.Component{Name: "example.com/web", Version: "2.0.0", References: []components.Component{base}}
	return components.Component{
		Name: "example.com/shop", Version: "1.2.0",
		Resources:  []components.Resource{components.Blueprint(t, "blueprint", map[string]string{"blueprint.yaml": "kind: Blueprint\n"})},
		References: []components.Component{web, {Name: "example.com/db", Version: "3.0.0", References: []components.Component{base}}},
		// The same component under one name, told apart by an identity.
		More: []components.Reference{
			{Name: "front", Component: "example.com/web", Version: "2.0.0"},
			{Name: "front", Component: "example.com/web", Version: "2.0.0", Identity: map[string]string{"side": "back"}},
		},
	}
}

// run runs a command below component, for somebody without a home.
func run(t testing.TB, args ...string) clitest.Result {
	t.Helper()
	return clitest.RunAlone(t, clitest.Call{Command: New, Args: args})
}

// filled is a registry that has components.
func filled(t testing.TB, all ...components.Component) *registry.Registry {
	t.Helper()
	server := registry.Start(t, registry.Options{})
	for _, c := range all {
		c.Push(t, components.Store(t, server, oci.Credential{}))
	}
	return server
}

// everywhere has a component in a registry and in archives of each form.
func everywhere(t *testing.T, c components.Component) map[string]string {
	t.Helper()
	folder := t.TempDir()
	for _, name := range []string{"directory", "archive.tar", "archive.tgz"} {
		components.Archive(t, filepath.Join(folder, name), c)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Join(folder, "archive.tgz"), link); err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"registry":  filled(t, c).URL,
		"directory": filepath.Join(folder, "directory"),
		"tar":       filepath.Join(folder, "archive.tar"),
		"tgz":       filepath.Join(folder, "archive.tgz"),
		"link":      link,
	}
}

// dockerConfig writes a file as docker login does.
func dockerConfig(t testing.TB, host, with string) string {
	t.Helper()
	auth := base64.StdEncoding.EncodeToString([]byte(username + ":" + with))
	file := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(file, fmt.Appendf(nil, `{"auths": {%q: {"auth": %q}}}`, host, auth), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func wantFailure(t testing.TB, got clitest.Result, texts ...string) {
	t.Helper()
	if got.Code != 1 || got.Stdout != "" {
		t.Errorf("exit code %d, standard output %q", got.Code, got.Stdout)
	}
	for _, text := range texts {
		if !strings.Contains(got.Stderr, text) {
			t.Errorf("it does not say %q:\n%s", text, got.Stderr)
		}
	}
	for _, secret := range []string{password, base64.StdEncoding.EncodeToString([]byte(username + ":" + password))} {
		if strings.Contains(got.Stderr, secret) {
			t.Errorf("it gives a password away: %s", got.Stderr)
		}
	}
}
