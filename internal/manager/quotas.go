// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"

	"espalier.dev/internal/controller/installations"
)

// QuotaOptions are the quotas of namespaces without quotas in their annotations. Zero means no quota.
type QuotaOptions struct {
	Installations  int64
	DeployItems    int64
	ConcurrentJobs int64
	// RenderedBytes may have a suffix, as in 64Mi.
	RenderedBytes string
}

func defaultQuotaOptions() QuotaOptions { return QuotaOptions{RenderedBytes: "0"} }

func (o *QuotaOptions) addFlags(flags *pflag.FlagSet) {
	flags.Int64Var(
		&o.Installations,
		"quota-installations",
		o.Installations,
		"how many installations a namespace may have, including nested ones; its annotations override this; 0 for no limit",
	)
	flags.Int64Var(
		&o.DeployItems,
		"quota-deploy-items",
		o.DeployItems,
		"how many deploy items a namespace may have; its annotations override this; 0 for no limit",
	)
	flags.StringVar(
		&o.RenderedBytes,
		"quota-rendered-bytes",
		o.RenderedBytes,
		"how many bytes the deploy items and nested installations of a namespace may have, for example 64Mi;\n"+
			"its annotations override this; 0 for no limit",
	)
	flags.Int64Var(
		&o.ConcurrentJobs,
		"quota-concurrent-jobs",
		o.ConcurrentJobs,
		"how many jobs of root installations may run in a namespace at once; its annotations override this; 0 for no limit",
	)
}

func (o *QuotaOptions) validate() error {
	for _, quota := range []struct {
		flag  string
		value int64
	}{
		{"--quota-installations", o.Installations},
		{"--quota-deploy-items", o.DeployItems},
		{"--quota-concurrent-jobs", o.ConcurrentJobs},
	} {
		if quota.value < 0 {
			return fmt.Errorf("%s is %d: it must be at least 1, or 0 for no limit", quota.flag, quota.value)
		}
	}
	if bytes, err := resource.ParseQuantity(o.RenderedBytes); err != nil || bytes.Sign() < 0 {
		return fmt.Errorf("--quota-rendered-bytes is %q: use a number of bytes, such as 64Mi, or 0 for no limit", o.RenderedBytes)
	}
	return nil
}

// limits returns the quotas for the controller.
func (o *QuotaOptions) limits() installations.Limits {
	bytes, _ := resource.ParseQuantity(o.RenderedBytes) // Validate has checked it.
	return installations.Limits{
		Installations: o.Installations, DeployItems: o.DeployItems, RenderedBytes: bytes.Value(), ConcurrentJobs: o.ConcurrentJobs,
	}
}
