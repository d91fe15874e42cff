// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"errors"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// withoutWatches is a management cluster that permits reading but not watching.
type withoutWatches struct{ client.WithWatch }

func (withoutWatches) Watch(context.Context, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
	return nil, errors.New("you may not watch this")
}

// failing is a management cluster that fails on demand.
type failing struct {
	client.WithWatch
	fail  atomic.Bool
	calls atomic.Int64
}

func (f *failing) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	f.calls.Add(1)
	if f.fail.Load() {
		return errors.New("the management cluster has a bad day")
	}
	return f.WithWatch.Get(ctx, key, object, options...)
}
