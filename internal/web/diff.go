// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"errors"
	"net/http"

	"espalier.dev/internal/preview"
	"espalier.dev/internal/web/rights"
	"espalier.dev/internal/web/view"
)

// diff shows how the next job of an installation would change the objects that blueprints create, in the whole tree, with the current
// imports. Everything is read with the caller's rights; the message names what they may not read.
func (s *Server) diff(r *http.Request, by caller) (any, error) {
	ref := refOf(r)
	inst, err := by.installationOf(r, ref.Namespace, ref.Name)
	if err != nil {
		return nil, err
	}
	out := s.newOutside()
	defer out.close()
	ctx, cancel := context.WithTimeout(r.Context(), outsideLimit)
	defer cancel()
	reader := preview.Reader{Cluster: by.cluster(), Outside: out.open, Inspectors: s.options.Inspectors}
	found, err := reader.NextJob(ctx, inst)
	if err != nil {
		return whyNoDiff(err)
	}
	shown := view.NewDiff(found)
	if len(shown.Objects)+len(shown.Notes) == 0 {
		shown.Message = "The next job would change none of the objects of the blueprint."
	}
	return shown, nil
}

// whyNoDiff returns why no diff can be computed.
func whyNoDiff(err error) (any, error) {
	shown := view.Diff{Objects: []view.ObjectDiff{}, Notes: []string{}}
	var unknown *preview.Unknown
	var known *problem
	switch err = unread(err); {
	case errors.As(err, &unknown):
		shown.Message = unknown.Message
	case errors.As(err, &known):
		shown.Message = known.Message
		if known.Command != "" {
			shown.Message += " To check: " + known.Command
		}
	default:
		return nil, err
	}
	return shown, nil
}

// cluster reads the sources of installations with the caller's rights.
func (by caller) cluster() preview.Cluster { return preview.Cluster{Client: by.reader.client} }

// unread converts an error about an unreadable source into one for the pages.
func unread(err error) error {
	var failed *preview.ReadError
	if !errors.As(err, &failed) {
		return err
	}
	right := rights.Right{Verb: failed.Verb, Group: failed.Resource.Group, Resource: failed.Resource.Resource}
	return attempt{right: right, namespace: failed.Namespace, what: failed.What}.refusal(failed.Err)
}
