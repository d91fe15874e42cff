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

// deniedFor is how long a list or watch counts as denied. Caches try again in intervals that grow to half a minute, with as much of chance.
const deniedFor = 2 * time.Minute

// denials are what the API server does not let the caches list and watch. They try that again and again; meanwhile the controllers that
// read from them wait, or see what was there before. Nothing else would tell whoever has forgotten a right.
type denials struct {
	now func() time.Time

	mutex sync.Mutex
	last  map[string]time.Time // by what the API server has said
}

func newDenials() *denials { return &denials{now: time.Now, last: map[string]time.Time{}} }

// hear is told what keeps a cache from listing and watching.
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
