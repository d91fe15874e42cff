// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	toolscache "k8s.io/client-go/tools/cache"
)

// deniedFor is how long a list or watch counts as denied. Caches retry with backoff of up to half a minute, plus as much jitter.
const deniedFor = 2 * time.Minute

// denials are the lists and watches that the API server denies to the caches. The caches retry; meanwhile the controllers that read from
// them wait, or see stale objects. Only this probe reports a missing right.
type denials struct {
	now func() time.Time

	mutex sync.Mutex
	last  map[string]time.Time // by the message of the API server
}

func newDenials() *denials { return &denials{now: time.Now, last: map[string]time.Time{}} }

// hear is called with the error of a cache's list or watch.
func (d *denials) hear(ctx context.Context, reflector *toolscache.Reflector, err error) {
	toolscache.DefaultWatchErrorHandler(ctx, reflector, err)
	var status apierrors.APIStatus
	if !apierrors.IsForbidden(err) || !errors.As(err, &status) {
		return
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.last[status.Status().Message] = d.now()
}

// check is a readiness probe.
func (d *denials) check(*http.Request) error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	maps.DeleteFunc(d.last, func(_ string, at time.Time) bool { return d.now().Sub(at) > deniedFor })
	if len(d.last) == 0 {
		return nil
	}
	return fmt.Errorf("rights are missing, see docs/reference/rights.md: %s", strings.Join(slices.Sorted(maps.Keys(d.last)), "; "))
}
