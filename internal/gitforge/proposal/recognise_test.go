// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package proposal_test

import (
	"testing"

	"espalier.dev/internal/gitforge/proposal"
)

func TestPIP22_ADescriptionSaysWhatItIsFor(t *testing.T) {
	w := newWorld(t, map[string]string{file: podinfo("1.0.0")})
	w.request.Run = 7
	body := w.propose().PullRequest.Body
	want := proposal.Mark{Environment: "prod", Key: key, Revision: "1.2.3", Run: 7}
	if got, ok := proposal.Recognise(body, "default", "podinfo"); !ok || got != want {
		t.Errorf("%+v, %t", got, ok)
	}
	for _, other := range []string{"pod", "podinfo2"} {
		if got, ok := proposal.Recognise(body, "default", other); ok {
			t.Errorf("%s: %+v", other, got)
		}
	}
	if got, ok := proposal.Recognise("default/podinfo/prod\n", "default", "podinfo"); ok {
		t.Errorf("without a key: %+v", got)
	}
}
