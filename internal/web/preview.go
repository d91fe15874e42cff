// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"

	"espalier.dev/internal/web/rights"
	"espalier.dev/internal/web/view"
)

// preview shows what an action would change, as far as the caller may see it.
func (s *Server) preview(r *http.Request, by caller) (any, error) {
	query := r.URL.Query()
	w := view.Wish{
		Action: query.Get("action"), Ref: refOf(r), Environment: query.Get("environment"), Revision: query.Get("revision"),
	}
	what, known := actions[w.Action]
	if !known || what.kind != w.Ref.Kind {
		return nil, invalid("There is no action %q for kind %q.", w.Action, w.Ref.Kind)
	}
	if _, err := by.read(r, w.Ref); err != nil {
		return nil, err
	}
	class, err := s.classOf(r.Context(), by.reader, rights.Page{})
	if err != nil {
		return nil, attempt{what: "find out what you may see"}.refusal(err)
	}
	return view.NewPreview(s.scene(class, w.Ref.Namespace), w), nil
}
