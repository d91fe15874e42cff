// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/types"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/component/credentials"
	"espalier.dev/internal/component/repository"
	"espalier.dev/internal/lru"
)

// View is what a user of a Context sees.
type View struct {
	*Repositories
	// Fingerprint is equal for equal credentials and resolvers.
	Fingerprint lru.Key
	// Ignored lists settings of the Context that have no effect, for the user.
	Ignored []string
}

// Of opens the repositories with the credentials and resolvers of a Context. One job of one object gets the same ones each time, unless the
// credentials change.
func (r *Registries) Of(c *lsv1alpha1.Context, contents credentials.Contents, owner types.UID, job string) (View, error) {
	var read [][]byte
	config, err := credentials.OfContext(c, func(kind, name string) (map[string][]byte, error) {
		data, err := contents(kind, name)
		// Maps of bytes always have a JSON form, with sorted keys.
		text, _ := json.Marshal(data)
		read = append(read, []byte(kind), []byte(name), text)
		return data, err
	})
	if err != nil {
		return View{}, err
	}
	fingerprint := lru.KeyOf(read...)
	return View{
		Repositories: r.With(lru.KeyOf(fingerprint[:], []byte(owner), []byte(job)), config),
		Fingerprint:  fingerprint,
		Ignored:      config.Ignored,
	}, nil
}

// Open is like Of, but returns only the repositories.
func (r *Registries) Open(
	c *lsv1alpha1.Context,
	contents credentials.Contents,
	owner types.UID,
	job string,
) (*repository.Repositories, error) {
	view, err := r.Of(c, contents, owner, job)
	if err != nil {
		return nil, err
	}
	return view.Repositories.Repositories, nil
}
