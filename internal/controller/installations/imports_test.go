// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations_test

import (
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/faults"
)

// A job that is requested after its imports were written uses these imports, even while the caches still show the old ones.
func TestJOB20_AJobSeesWhatWasWrittenBeforeItWasAskedFor(t *testing.T) {
	w := idleWorld(t)
	transport := faults.New(faults.Plan{})
	w.run(transport.Config(w.server.Config()))
	data, secret := testkit.DataObject(w.namespace, "config", "old").Build(), w.secret("key", "old")
	blueprint := header + imports("config", "key") + exports(`result: "{{ .imports.config }} {{ .imports.key }}"`, "result")
	w.create(data, secret, w.installation("app", blueprint).
		ImportData("config", "config").ImportSecret("key", "key", "word").ExportData("result", "result").Reconcile().Build())
	before := w.finished("app", lsv1alpha1.PhaseSucceeded)
	w.result(`"old old"`)

	for _, resource := range []string{"dataobjects", "secrets"} {
		transport.Hold(resource)
		defer transport.Release(resource)
	}
	w.patch(data, `{"data":"new"}`)
	w.patch(secret, `{"stringData":{"word":"new"}}`)
	for _, resource := range []string{"dataobjects", "secrets"} {
		if err := transport.AwaitHeld(t.Context(), resource, 1); err != nil {
			t.Fatal(err)
		}
	}
	w.request("app")
	if after := w.finishedAfter("app", before.Status.JobID); after.Status.Phase != lsv1alpha1.PhaseSucceeded {
		t.Fatalf("status %+v", after.Status)
	}
	w.result(`"new new"`)
}
