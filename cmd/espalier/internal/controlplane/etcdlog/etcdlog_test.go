// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package etcdlog

import (
	"bytes"
	"strings"
	"testing"

	"go.etcd.io/etcd/client/pkg/v3/logutil"
	"go.uber.org/zap"
)

func TestDefaultLoggersGoWhereTheyAreDirected(t *testing.T) {
	log, err := logutil.CreateDefaultZapLogger(zap.InfoLevel)
	if err != nil {
		t.Fatal(err)
	}
	log.Info("too early") // dropped without an error
	var out bytes.Buffer
	To(&out)
	log.Info("in time")
	if got := out.String(); !strings.Contains(got, "in time") || strings.Contains(got, "too early") {
		t.Errorf("got %q", got)
	}
}
