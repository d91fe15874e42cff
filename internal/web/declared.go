// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/singleflight"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/lru"
	"espalier.dev/internal/offline"
	"espalier.dev/internal/web/view"
)

const (
	// declaredLimit is how long registries and Git servers may take to return types, for which readers should not wait.
	declaredLimit = 10 * time.Second
	// declaredFor is how long the declaration of a blueprint is cached, since a tag may move; unreadFor how long the failure to read one is
	// cached.
	declaredFor, unreadFor = 10 * time.Minute, 30 * time.Second
	// declaredBytes and maxUnread bound the caches.
	declaredBytes, maxUnread = 16 << 20, 1024
)

// shelf caches what blueprints outside of the cluster declare, with all their sources in the key. A reader who gets a cached answer has
// therefore just read the same credentials.
type shelf struct {
	known  *lru.Cache[declaration]
	unread *lru.Cache[string]
	under  singleflight.Group
}

type declaration struct {
	imports []lsv1alpha1.ImportDefinition
	exports []lsv1alpha1.ExportDefinition
}

func newShelf() *shelf {
	return &shelf{known: lru.NewCache[declaration](declaredBytes), unread: lru.NewCacheOf[string](maxUnread)}
}

// declared returns the types and defaults of the imports and exports of an installation whose blueprint is outside of the cluster. If the
// blueprint cannot be read, the answer says why, and the page shows values without types.
func (s *Server) declared(r *http.Request, by caller) (any, error) {
	ref := refOf(r)
	inst, err := by.installationOf(r, ref.Namespace, ref.Name)
	if err != nil {
		return nil, err
	}
	manifests := offline.NewManifests(inst.Namespace)
	manifests.Installations = []*lsv1alpha1.Installation{inst}
	if err := by.cluster().Sources(r.Context(), manifests, inst); err != nil {
		return nil, unread(err)
	}
	found, err := s.declaration(r.Context(), inst, manifests)
	var known *problem
	if errors.As(err, &known) {
		shown := view.NewDeclared(inst, nil, nil)
		shown.Message = known.Message
		return shown, nil
	}
	if err != nil {
		return nil, err
	}
	return view.NewDeclared(inst, found.imports, found.exports), nil
}

// declaration reads a blueprint, unless it is cached. Concurrent requests share one read.
func (s *Server) declaration(ctx context.Context, inst *lsv1alpha1.Installation, m *offline.Manifests) (declaration, error) {
	content, err := json.Marshal([]any{
		inst.Namespace, inst.Labels[lsv1alpha1.EncompassedByLabel], inst.Spec, m.Contexts, m.Overwrites, m.Secrets, m.ConfigMaps,
	})
	if err != nil {
		return declaration{}, fmt.Errorf("name the blueprint of %s: %w", inst.Name, err)
	}
	now := s.options.Now()
	keyFor := func(lasts time.Duration) lru.Key { return lru.KeyOf(content, []byte(now.Truncate(lasts).String())) }
	why, err := s.shelf.unread.Get(keyFor(unreadFor), func() (string, int, error) { return "", 0, errNotTried })
	if err == nil {
		return declaration{}, invalid("%s", why)
	}
	key := keyFor(declaredFor)
	found, err := s.shelf.known.Get(key, func() (declaration, int, error) { return s.readDeclaration(ctx, key, inst, m) })
	var known *problem
	if errors.As(err, &known) {
		_, _ = s.shelf.unread.Get(keyFor(unreadFor), func() (string, int, error) { return known.Message, 0, nil }) // It is cached, and no error.
	}
	return found, err
}

var errNotTried = errors.New("not read yet")

// readDeclaration reads a blueprint. It continues when the first caller disconnects, for the others.
func (s *Server) readDeclaration(
	ctx context.Context, key lru.Key, inst *lsv1alpha1.Installation, m *offline.Manifests,
) (declaration, int, error) {
	made, err, _ := s.shelf.under.Do(string(key[:]), func() (any, error) {
		out := s.newOutside()
		defer out.close()
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), declaredLimit)
		defer cancel()
		parsed, err := out.find(limited, inst, m)
		if err != nil {
			return nil, err
		}
		return declaration{imports: parsed.Imports, exports: parsed.Exports}, nil
	})
	found, ok := made.(declaration)
	if err != nil || !ok {
		return declaration{}, 0, err
	}
	text, err := json.Marshal([]any{found.imports, found.exports})
	return found, len(text), err
}
