// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"testing"

	"espalier.dev/internal/web/view"
)

func TestPreviews(t *testing.T) {
	for name, test := range map[string]struct {
		wish view.Wish
		want string
		refs int
	}{
		"nothing to see": {
			view.Wish{Action: "reconcile", Ref: view.Ref{Kind: "Installation", Namespace: "a", Name: "none"}}, "Of what belongs to none nothing can be seen here.", 1,
		},
		"no pipeline": {
			view.Wish{Action: "promote", Ref: view.Ref{Kind: "Pipeline", Namespace: "a", Name: "none"}}, "Of what belongs to none nothing can be seen here.", 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := view.NewPreview(view.Scene{}, test.wish); got.Text != test.want || len(got.Objects) != test.refs {
				t.Errorf("%+v", got)
			}
		})
	}
}
