// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit/gitserver"
)

// gitted is an installation whose blueprint is in the folder shop of a repository, with the Secret to read it.
func (w *world) gitted(server *gitserver.Server, repository *gitserver.Repository) *lsv1alpha1.Installation {
	w.Helper()
	secret := &corev1.Secret{StringData: map[string]string{
		"username": gitserver.Username, "password": gitserver.Password, "caFile": string(server.CA()),
	}}
	secret.Namespace, secret.Name = w.namespace, "git"
	w.create(secret)
	inst := w.installation("app", "").ExportData("word", "word").Reconcile().Build()
	inst.Spec.Blueprint = lsv1alpha1.BlueprintDefinition{Git: &lsv1alpha1.GitBlueprint{
		URL: repository.URL, Revision: gitserver.Main, Path: "shop", SecretReference: &lsv1alpha1.LocalObjectReference{Name: "git"},
	}}
	return inst
}

func gitBlueprint(word string) map[string]string {
	return map[string]string{"shop/blueprint.yaml": header + deploy(item("one", endless)) + exports("word: "+word, "word")}
}

// A job finishes with the blueprint that it started with, whatever is pushed in between; the next job uses the new one.
func TestAJobKeepsTheRevisionOfItsBlueprint(t *testing.T) {
	w := newWorld(t)
	server := gitserver.Start(t)
	repository := server.Create(t, "blueprints", gitBlueprint("one"))
	w.create(w.gitted(server, repository))
	w.executing("app")
	first := repository.Tip(gitserver.Main)
	second := repository.Commit(gitserver.Main, gitBlueprint("two"))
	w.finishItems("app")
	inst := w.finished("app", lsv1alpha1.PhaseSucceeded)
	if inst.Status.BlueprintRevision != first || w.exported() != `"one"` {
		t.Errorf("the first job used revision %s and exported %s, want %s and one", inst.Status.BlueprintRevision, w.exported(), first)
	}
	w.request("app")
	w.eventually("app", "at the second revision", func(i *lsv1alpha1.Installation) bool {
		return i.Status.BlueprintRevision == second && i.Status.Phase == lsv1alpha1.PhaseProgressing
	})
	w.finishItems("app")
	w.finishedAfter("app", inst.Status.JobID)
	if w.exported() != `"two"` {
		t.Errorf("the second job exported %s", w.exported())
	}
}

// An unreadable blueprint is awaited; the status says why, without the password, and the job continues once the Secret is right.
func TestABlueprintThatCannotBeReadIsAwaited(t *testing.T) {
	w := newWorld(t)
	server := gitserver.Start(t)
	repository := server.Create(t, "blueprints", map[string]string{"shop/blueprint.yaml": header + exports("word: one", "word")})
	inst := w.gitted(server, repository)
	secret := &corev1.Secret{}
	secret.Namespace, secret.Name = w.namespace, "git"
	const wrong = "a-w0rd-that-must-not-be-told"
	w.patch(secret, `{"stringData":{"password":"`+wrong+`"}}`)
	w.create(inst)
	waiting := w.eventually("app", "with an error", func(i *lsv1alpha1.Installation) bool { return i.Status.LastError != nil })
	if message := waiting.Status.LastError.Message; !strings.Contains(message, "spec.blueprint.git") || strings.Contains(message, wrong) {
		t.Errorf("lastError = %+v", waiting.Status.LastError)
	}
	if waiting.Status.IsFinished() {
		t.Error("the job has ended although the Secret may be corrected")
	}
	w.patch(secret, `{"stringData":{"password":"`+gitserver.Password+`"}}`)
	w.finished("app", lsv1alpha1.PhaseSucceeded)
}
