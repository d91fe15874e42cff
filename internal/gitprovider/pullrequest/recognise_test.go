// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pullrequest_test

import (
	"testing"

	"espalier.dev/internal/gitprovider/pullrequest"
)

func TestPIP22_ADescriptionSaysWhatItIsFor(t *testing.T) {
	w := newWorld(t, map[string]string{file: podinfo("1.0.0")})
	w.request.Run = 7
	body := w.propose().PullRequest.Body
	want := pullrequest.Mark{Environment: "prod", Key: key, Revision: "1.2.3", Run: 7}
	if got, ok := pullrequest.Recognise(body, "default", "podinfo"); !ok || got != want {
		t.Errorf("%+v, %t", got, ok)
	}
	for _, other := range []string{"pod", "podinfo2"} {
		if got, ok := pullrequest.Recognise(body, "default", other); ok {
			t.Errorf("%s: %+v", other, got)
		}
	}
	if got, ok := pullrequest.Recognise("default/podinfo/prod\n", "default", "podinfo"); ok {
		t.Errorf("without a key: %+v", got)
	}
}
