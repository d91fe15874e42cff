// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
)

const (
	// warningCode is the code of an API server's warnings.
	warningCode = 299
	// finalizerAdvice comes with every write of an object that has our finalizers. Their names are part of the API.
	finalizerAdvice = "prefer a domain-qualified finalizer name"
	// manyWarnings limits how many warnings are recorded; beyond that, each warning is logged again.
	manyWarnings = 1000
)

// warnings logs each warning of the API server once.
type warnings struct {
	log logr.Logger

	mutex sync.Mutex
	told  map[string]bool
}

var _ rest.WarningHandlerWithContext = &warnings{}

// HandleWarningHeaderWithContext is called for every warning in every response.
func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, code int, _ string, text string) {
	if code == warningCode && text != "" && !strings.Contains(text, finalizerAdvice) && w.isNew(text) {
		w.log.Info("The API server warns", "warning", text)
	}
}

func (w *warnings) isNew(text string) bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.told[text] {
		return false
	}
	if w.told == nil || len(w.told) >= manyWarnings {
		w.told = map[string]bool{}
	}
	w.told[text] = true
	return true
}

// listeningTo returns a configuration that logs warnings.
func listeningTo(config *rest.Config, log logr.Logger) *rest.Config {
	config = rest.CopyConfig(config)
	config.WarningHandlerWithContext = &warnings{log: log}
	return config
}
