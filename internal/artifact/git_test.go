// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package artifact_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/artifact"
	"espalier.dev/internal/blueprint"
	"espalier.dev/internal/catalog"
	"espalier.dev/internal/component/resolve"
	"espalier.dev/internal/dial"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/gitprovider"
	"espalier.dev/internal/testkit/gitserver"
)

type world struct {
	server     *gitserver.Server
	repository *gitserver.Repository
	git        *artifact.Git
}

func newWorld(t *testing.T) *world {
	t.Helper()
	server := gitserver.Start(t)
	repository := server.Create(t, "team/blueprints", map[string]string{
		"shop/blueprint.yaml": "one",
		"shop/files/deploy":   "two",
		"shopping/other":      "not of the directory",
		"README.md":           "neither",
	})
	repository.Set("uploadpack.allowReachableSHA1InWant", "true")
	return &world{server: server, repository: repository, git: artifact.NewGit(dial.Rules{AllowLoopback: true})}
}

func (w *world) at(revision, path string) lsv1alpha1.GitBlueprint {
	return lsv1alpha1.GitBlueprint{URL: w.repository.URL, Revision: revision, Path: path}
}

func (w *world) read(t *testing.T, at lsv1alpha1.GitBlueprint, commit string) catalog.Artifact {
	t.Helper()
	found, err := w.git.Read(t.Context(), at, w.server.Credentials(), commit)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestADirectoryOfARepositoryIsABlueprint(t *testing.T) {
	w := newWorld(t)
	first := w.repository.Tip(gitserver.Main)
	want := catalog.Artifact{
		Files:    blueprint.Files{"blueprint.yaml": []byte("one"), "files/deploy": []byte("two")},
		Revision: first,
	}
	for _, path := range []string{"shop", "/shop/", "shop/"} {
		if diff := cmp.Diff(want, w.read(t, w.at(gitserver.Main, path), "")); diff != "" {
			t.Errorf("path %q (-want +got):\n%s", path, diff)
		}
	}
	second := w.repository.Commit(gitserver.Main, map[string]string{"shop/blueprint.yaml": "three"})
	if got := w.read(t, w.at(gitserver.Main, "shop"), ""); got.Revision != second || string(got.Files["blueprint.yaml"]) != "three" {
		t.Errorf("after a push: %+v, want commit %s", got, second)
	}
	if diff := cmp.Diff(want, w.read(t, w.at(gitserver.Main, "shop"), first)); diff != "" {
		t.Errorf("the commit that was found before (-want +got):\n%s", diff)
	}
	if got := w.read(t, w.at(gitserver.Main, ""), ""); len(got.Files) != 4 {
		t.Errorf("the whole repository has %d files", len(got.Files))
	}
}

func TestAWrongPasswordMayBeCorrected(t *testing.T) {
	w := newWorld(t)
	wrong := w.server.Credentials()
	wrong.Password = "another-w0rd"
	_, err := w.git.Read(t.Context(), w.at(gitserver.Main, "shop"), wrong, "")
	if err == nil || failure.KindOf(err) != failure.Retryable || strings.Contains(err.Error(), wrong.Password) {
		t.Errorf("%v is of kind %v", err, failure.KindOf(err))
	}
}

// Content is fetched once: for a branch only its tip is requested again, for a known commit nothing.
func TestARevisionIsFetchedOnce(t *testing.T) {
	w := newWorld(t)
	commit := w.read(t, w.at(gitserver.Main, "shop"), "").Revision
	w.server.Requests()
	w.read(t, w.at(gitserver.Main, "shop"), commit)
	if requests := w.server.Requests(); len(requests) > 0 {
		t.Errorf("a known commit was asked for: %v", requests)
	}
	w.read(t, w.at(gitserver.Main, "shop"), "")
	for _, request := range w.server.Requests() {
		if strings.HasPrefix(request, http.MethodPost) {
			t.Errorf("a branch that has not moved was fetched: %s", request)
		}
	}
	_, err := w.git.Read(t.Context(), w.at(gitserver.Main, "shop"), gitprovider.Credentials{CA: w.server.CA()}, commit)
	if err == nil {
		t.Error("what somebody else has read was given to a reader without credentials")
	}
}

func TestWhatCannotBeReadSaysWhy(t *testing.T) {
	w := newWorld(t)
	other := w.at(gitserver.Main, "shop")
	other.URL = strings.Replace(other.URL, "team/blueprints", "team/absent", 1)
	plain := w.at(gitserver.Main, "shop")
	plain.URL = "ssh://git.example.com/x"
	named := w.at("v9", "shop")
	named.URL = strings.Replace(named.URL, "://", "://t0ken@", 1)
	for name, c := range map[string]struct {
		at       lsv1alpha1.GitBlueprint
		terminal bool
		missing  bool
		want     string
	}{
		"no such revision":   {w.at("v9", "shop"), false, true, `revision "v9" is neither a branch nor a tag of ` + w.repository.URL},
		"a token as user":    {named, false, true, `revision "v9" is neither a branch nor a tag of ` + w.repository.URL},
		"no such commit":     {w.at(strings.Repeat("a", 40), "shop"), false, false, strings.Repeat("a", 40)},
		"no such directory":  {w.at(gitserver.Main, "shops"), true, false, `there is no directory "shops" in commit `},
		"a way out":          {w.at(gitserver.Main, "shop/../.."), true, false, `path "shop/../.." is not a directory`},
		"a file":             {w.at(gitserver.Main, "README.md"), true, false, `there is no directory "README.md"`},
		"no such repository": {other, false, false, "team/absent"},
		"another protocol":   {plain, true, false, "url"},
	} {
		_, err := w.git.Read(t.Context(), c.at, w.server.Credentials(), "")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if terminal := failure.KindOf(err) == failure.Terminal; terminal != c.terminal {
			t.Errorf("%s: terminal is %t: %v", name, terminal, err)
		}
		if missing := errors.Is(err, resolve.ErrNotFound); missing != c.missing {
			t.Errorf("%s: missing is %t: %v", name, missing, err)
		}
		if err != nil && strings.Contains(err.Error(), gitserver.Password) {
			t.Errorf("%s: the password is in %v", name, err)
		}
	}
}
