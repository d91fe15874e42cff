// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/client-go/tools/clientcmd"
)

const othersKubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: work, cluster: {server: "https://work.example"}}]
users: [{name: work, user: {token: abc}}]
contexts: [{name: work, context: {cluster: work, user: work}}]
current-context: work
`

func testAccess() access {
	return newAccess("espalier-local", "127.0.0.1:6443", keys{ca: []byte("ca"), adminCert: []byte("cert"), adminKey: []byte("key")})
}

func TestKubeconfigKeepsOtherEntries(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "config")
	writeTestFile(t, target, othersKubeconfig)
	link := filepath.Join(dir, "link")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	a := testAccess()
	if err := a.writeKubeconfig(link); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.LoadFromFile(target)
	if err != nil {
		t.Fatal(err)
	}
	if config.CurrentContext != "espalier-local" || config.Clusters["espalier-local"].Server != "https://127.0.0.1:6443" {
		t.Errorf("our entry is missing: %+v", config)
	}
	if config.Clusters["work"] == nil || config.AuthInfos["work"].Token != "abc" || config.Contexts["work"] == nil {
		t.Errorf("entries of others are missing: %+v", config)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v, %v", info, err)
	}

	if err := a.removeFromKubeconfig(link); err != nil {
		t.Fatal(err)
	}
	config, err = clientcmd.LoadFromFile(target)
	if err != nil {
		t.Fatal(err)
	}
	want, err := clientcmd.Load([]byte(othersKubeconfig))
	if err != nil {
		t.Fatal(err)
	}
	want.CurrentContext = ""
	origin := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".LocationOfOrigin" }, cmp.Ignore())
	if diff := cmp.Diff(want, config, origin, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("not just our entry was removed (-want +got):\n%s", diff)
	}
}

func TestKubeconfigThatHeldOnlyOursGoesAway(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	a := testAccess()
	if err := a.writeKubeconfig(path); err != nil {
		t.Fatal(err)
	}
	if err := a.removeFromKubeconfig(path); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("stat: %v", err)
	}
	if err := a.removeFromKubeconfig(path); err != nil {
		t.Errorf("remove from a file that is gone: %v", err)
	}
}

func TestKubeconfigEntryOfASuccessorStays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	successor := testAccess()
	successor.address = "127.0.0.1:7443"
	if err := successor.writeKubeconfig(path); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := testAccess().removeFromKubeconfig(path); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(before), string(after)); diff != "" {
		t.Errorf("the file changed:\n%s", diff)
	}
}
