// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build externals

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"espalier.dev/examples"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/program"
)

// credentials returns the credentials that only the Secrets may contain.
func (u user) credentials(t *testing.T) map[string]string {
	t.Helper()
	secret := func(name, key string) string {
		return u.mustRun(t, "kubectl", "-n", "gitops", "get", "secret", name, "-o", "go-template={{.data."+key+" | base64decode}}")
	}
	return map[string]string{"password": secret("gitea", "password"), "token": secret("git", "token")}
}

// untilRefused waits until an address refuses connections.
func untilRefused(t *testing.T, address string) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, testkit.Patience, true, func(context.Context) (bool, error) {
		connection, err := net.Dial("tcp4", address)
		if err == nil {
			_ = connection.Close()
		}
		return err != nil, nil
	})
	if err != nil {
		t.Errorf("Gitea still listens at %s", address)
	}
}

// newUserWithGitea returns a user with a Gitea. It occupies the usual port, or somebody else does: a Gitea that is to keep its port between
// two starts must not share it with tests of other packages.
func newUserWithGitea(t *testing.T) user {
	t.Helper()
	binary, err := program.InstallGitea(t.Context(), t.TempDir(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	if listener, err := net.Listen("tcp4", "127.0.0.1:3000"); err == nil {
		t.Cleanup(func() { _ = listener.Close() })
	}
	u := newUser(t)
	u.env = []string{"ESPALIER_GITEA=" + binary}
	return u
}

// The commands of the README work, even if the first start is interrupted, the second one is killed half-way, and espalier is stopped and
// restarted while a pull request is open. Nothing is left of Gitea when espalier is gone, and no credential is logged.
func TestGitOpsDoesWhatItsReadmeSays(t *testing.T) {
	u := newUserWithGitea(t)
	u.startUntil(t, "gitea/app.ini", "--example", "gitops").interrupt(t)
	untilRefused(t, u.giteaAddress(t))
	data := filepath.Join(u.dataDir(), "gitea", "data") // The interrupted start may have created it.
	if err := os.RemoveAll(data); err != nil {
		t.Fatal(err)
	}
	u.startUntil(t, "gitea/data/gitea.db", "--example", "gitops").kill(t)
	untilRefused(t, u.giteaAddress(t))

	start := func() *instance {
		i := u.up(t, "--example", "gitops", "--ui-addr", "")
		t.Cleanup(func() { _ = i.cmd.Process.Kill() })
		return i
	}
	first := start()
	address := u.giteaAddress(t)
	if got := first.facts["Gitea"]; got != "http://"+address+" (user espalier)" {
		t.Errorf("Gitea is at %s, it says: %s", address, got)
	}
	before := u.credentials(t)
	if len(before["password"]) < 20 || len(before["token"]) != 40 {
		t.Error("there is no password, or no token")
	}
	command := strings.TrimPrefix(first.facts["Password"], "espalier ")
	if got := u.shell(t, "espalier "+command); got != before["password"] {
		t.Errorf("the command of the summary does not print the password: %s", command)
	}
	u.mustRun(t, "kubectl", "-n", "gitops", "wait", "pipeline/web", "--timeout=10m",
		"--for=jsonpath={.status.environments.staging.promotion.state}=Created")
	first.stop(t, syscall.SIGTERM)
	untilRefused(t, address)
	idle := u.up(t, "--ui-addr", "")
	if got := idle.facts["Gitea"]; !strings.Contains(got, "not running: start with --example gitops") {
		t.Errorf("without the example it says of Gitea: %s", got)
	}
	idle.stop(t, syscall.SIGTERM)

	second := start()
	if u.giteaAddress(t) != address || !maps.Equal(u.credentials(t), before) {
		t.Error("the address or the credentials are other ones after a restart")
	}
	u.follow(t, "gitops")
	second.signal(t, syscall.SIGKILL)
	second.rest(t)
	untilRefused(t, address)

	third := start()
	u.deployToDev(t, "1.2.0")
	u.awaitPullRequest(t, "3")
	third.stop(t, syscall.SIGINT)
	untilRefused(t, address)
	u.keepsSecret(t, before)
}

// deployToDev commits a version to the repository, as developers do.
func (u user) deployToDev(t *testing.T, version string) {
	t.Helper()
	manifest, err := fs.ReadFile(examples.Repository(), "environments/dev.yaml")
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(manifest), "version: 1.1.0 #", "version: "+version+" #", 1)
	file := map[string]any{"operation": "upload", "path": "environments/dev.yaml", "content": []byte(changed)}
	body, err := json.Marshal(map[string]any{"branch": "main", "message": "Deploy " + version, "files": []any{file}})
	if err != nil {
		t.Fatal(err)
	}
	u.callGitea(t, http.MethodPost, "/contents", body)
}

// headOfMain returns the commit that the branch main points to.
func (u user) headOfMain(t *testing.T) string {
	t.Helper()
	var branch struct{ Commit struct{ ID string } }
	if err := json.Unmarshal(u.callGitea(t, http.MethodGet, "/branches/main", nil), &branch); err != nil {
		t.Fatal(err)
	}
	return branch.Commit.ID
}

// callGitea sends a request about the repository, as the user of the example.
func (u user) callGitea(t *testing.T, method, path string, body []byte) []byte {
	t.Helper()
	url := "http://" + u.giteaAddress(t) + "/api/v1/repos/espalier/web" + path
	request, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.SetBasicAuth("espalier", u.credentials(t)["password"])
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= http.StatusBadRequest {
		t.Fatalf("%s %s is answered with %s: %s: %v", method, path, response.Status, answer, err)
	}
	return answer
}

// awaitPullRequest waits until the pipeline has opened a pull request for staging in the running Gitea.
func (u user) awaitPullRequest(t *testing.T, number string) {
	t.Helper()
	url := "http://" + u.giteaAddress(t) + "/espalier/web/pulls/" + number
	u.mustRun(t, "kubectl", "-n", "gitops", "wait", "pipeline/web", "--timeout=10m",
		"--for=jsonpath={.status.environments.staging.promotion.pullRequest.url}="+url)
}

// The Gitea of a removed folder is replaced by a new one, which may have another port. What exists in the cluster uses it.
func TestGitOpsContinuesWithANewGitea(t *testing.T) {
	u := newUserWithGitea(t)
	first := u.up(t, "--example", "gitops", "--ui-addr", "")
	t.Cleanup(func() { _ = first.cmd.Process.Kill() })
	u.awaitPullRequest(t, "1")
	address := u.giteaAddress(t)
	first.stop(t, syscall.SIGTERM)
	if err := os.RemoveAll(filepath.Join(u.dataDir(), "gitea")); err != nil {
		t.Fatal(err)
	}
	if listener, err := net.Listen("tcp4", address); err == nil { // Otherwise, somebody else listens there already.
		answerInsteadOfGitea(t, listener)
	}

	second := u.up(t, "--example", "gitops", "--ui-addr", "")
	t.Cleanup(func() { _ = second.cmd.Process.Kill() })
	if u.giteaAddress(t) == address {
		t.Fatalf("the new Gitea has the old address %s", address)
	}
	u.awaitPullRequest(t, "1")
	u.mustRun(t, "kubectl", "-n", "gitops", "wait", "installation/environments", "--timeout=10m",
		"--for=jsonpath={.status.blueprintRevision}="+u.headOfMain(t))
	second.stop(t, syscall.SIGTERM)
}

// giteaAddress returns the address of the Gitea in the data directory.
func (u user) giteaAddress(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(u.dataDir(), "gitea", "espalier.json"))
	if err != nil {
		t.Fatal(err)
	}
	var state struct{ Port json.Number }
	if err := json.Unmarshal(content, &state); err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort("127.0.0.1", state.Port.String())
}

// keepsSecret checks that no log contains credentials.
func (u user) keepsSecret(t *testing.T, credentials map[string]string) {
	t.Helper()
	logs := 0
	err := filepath.WalkDir(u.dataDir(), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.Contains(entry.Name(), ".log") {
			return err
		}
		logs++
		content, err := os.ReadFile(path)
		for name, value := range credentials {
			if strings.Contains(string(content), value) {
				t.Errorf("the %s is in %s", name, path)
			}
		}
		return err
	})
	if err != nil || logs < 3 {
		t.Errorf("looked into %d logs: %v", logs, err)
	}
}
